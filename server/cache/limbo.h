// Limbo: items that a thread took out of the index and that others may still be reading.
//
// Items gather in a batch; a closed batch carries one stamp of Epochs and is given out whole once
// that is past. An item that is pinned then stays behind until the last pin is gone.
//
// Owner: a Heap. Threads: the heap's, or who borrows it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/cache/epochs.h"
#include "server/cache/item.h"

namespace cache {

class Limbo {
 public:
  // A batch closes by itself at this many items or so many bytes.
  static constexpr std::size_t kBatchItems = 64;
  explicit Limbo(std::size_t batch_bytes_max) : batch_bytes_max_(batch_bytes_max) {}

  // `bytes` is about what the item holds.
  void Retire(Item* item, std::size_t bytes, Epochs* epochs);
  // Stamps what has gathered.
  void Close(Epochs* epochs);
  // Calls free(Item*) for each item whose time has come.
  template <typename Free>
  void Collect(std::uint64_t safe_epoch, Free free);

  // Items that wait for other threads; pinned ones wait for a client and do not count.
  [[nodiscard]] std::size_t waiting_count() const { return waiting_count_; }
  [[nodiscard]] bool has_closed() const { return closed_count_ > 0; }
  [[nodiscard]] bool has_pinned() const { return !pinned_.empty(); }
  [[nodiscard]] std::uint64_t oldest_stamp() const { return batches_[first_].stamp; }

 private:
  struct Batch {
    std::uint64_t stamp = 0;
    std::vector<Item*> items;
  };
  static constexpr std::size_t kBatchCount = 8;

  static bool IsPinned(const Item* item);
  Batch& open() { return batches_[(first_ + closed_count_) % kBatchCount]; }

  std::size_t batch_bytes_max_;
  std::array<Batch, kBatchCount> batches_;  // A ring: the closed ones, then the open one.
  std::size_t first_ = 0;
  std::size_t closed_count_ = 0;
  std::size_t open_bytes_ = 0;
  std::size_t waiting_count_ = 0;
  std::vector<Item*> pinned_;
};

template <typename Free>
void Limbo::Collect(std::uint64_t safe_epoch, Free free) {
  std::erase_if(pinned_, [&free](Item* item) {
    if (IsPinned(item)) return false;
    free(item);
    return true;
  });
  while (closed_count_ > 0 && batches_[first_].stamp <= safe_epoch) {
    std::vector<Item*>& items = batches_[first_].items;
    for (Item* item : items) {
      if (IsPinned(item)) {
        pinned_.push_back(item);
      } else {
        free(item);
      }
    }
    waiting_count_ -= items.size();
    items.clear();
    first_ = (first_ + 1) % kBatchCount;
    --closed_count_;
  }
}

}  // namespace cache
