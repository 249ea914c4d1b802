#include "server/cache/limbo.h"

#include "server/cache/item_access.h"

namespace cache {

bool Limbo::IsPinned(const Item* item) { return ItemAccess::IsPinned(item); }

void Limbo::Retire(Item* item, std::size_t bytes, Epochs* epochs) {
  open().items.push_back(item);
  ++waiting_count_;
  open_bytes_ += bytes;
  if (open().items.size() >= kBatchItems || open_bytes_ >= batch_bytes_max_) Close(epochs);
}

// With all batches under way the open one goes on growing; it closes when one of them is past.
void Limbo::Close(Epochs* epochs) {
  if (open().items.empty() || closed_count_ + 1 == kBatchCount) return;
  open().stamp = epochs->Advance();
  ++closed_count_;
  open_bytes_ = 0;
}

}  // namespace cache
