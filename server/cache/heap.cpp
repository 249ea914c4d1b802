#include "server/cache/heap.h"

#include "server/cache/item_access.h"
#include "server/cache/slot_link.h"

namespace cache {

Heap::Heap(PageSpace* space, const SizeClasses* classes, std::vector<Heap*> const* heaps,
           std::uint32_t thread)
    : slabs(space, classes, thread),
      limbo(space->page_bytes()),
      newcomers(classes->count() + 1),
      space_(space),
      sizes_(classes),
      heaps_(heaps),
      thread_(thread),
      returning_counts_(classes->count() + 1) {}

void Heap::Free(Item* item) {
  ChainPiece* piece = item->Has(Item::kChained) ? FirstPiece(item) : nullptr;
  while (piece != nullptr) {
    ChainPiece* next = piece->next;
    // No longer a piece: its head's slot may be another item's by the time this one is home.
    piece->state.store(static_cast<std::uint8_t>(SlotKind::kPrivate), std::memory_order_relaxed);
    FreeSlot(piece);
    piece = next;
  }
  FreeSlot(item);
}

void Heap::FreeSlot(void* slot) {
  const Page& page = space_->Of(slot);
  const std::uint32_t owner = page.owner.load(std::memory_order_relaxed);
  if (owner == thread_) {
    slabs.Give(slot);
    return;
  }
  if (outboxes_.empty()) outboxes_.resize(heaps_->size());
  Outbox& out = outboxes_[owner];
  WriteLink(slot, out.first);
  if (out.last == nullptr) out.last = slot;
  out.first = slot;
  ++out.count;
  out.bytes += sizes_->SlotBytes(page.class_id.load(std::memory_order_relaxed));
  if (out.count >= kOutboxSlots || out.bytes >= space_->page_bytes() / 4) Send(owner);
}

void Heap::Send(std::uint32_t thread) {
  Outbox& out = outboxes_[thread];
  (*heaps_)[thread]->Post(out.first, out.last);
  out = {};
}

void Heap::PostAll() {
  for (std::uint32_t thread = 0; thread < outboxes_.size(); ++thread) {
    if (outboxes_[thread].count > 0) Send(thread);
  }
}

void Heap::Post(void* first, void* last) {
  void* head = inbox_.load(std::memory_order_relaxed);
  do {
    WriteLink(last, head);
  } while (!inbox_.compare_exchange_weak(head, first, std::memory_order_release,
                                         std::memory_order_relaxed));
}

void Heap::EmptyInbox() {
  if (!has_mail()) return;
  void* slot = inbox_.exchange(nullptr, std::memory_order_acquire);
  while (slot != nullptr) {
    void* next = ReadLink(slot);
    slabs.Give(slot);
    slot = next;
  }
}

template <typename Visit>
void Heap::ForEachSlot(const Item* item, Visit visit) {
  visit(space_->Of(item));
  if (!item->Has(Item::kChained)) return;
  for (ChainPiece* piece = FirstPiece(item); piece != nullptr; piece = piece->next) {
    visit(space_->Of(piece));
  }
}

void Heap::Collect(std::uint64_t safe_epoch) {
  limbo.Collect(safe_epoch, [this](Item* item) {
    ForEachSlot(item, [this](const Page& page) {
      if (IsOwn(page)) --returning_counts_[ClassOf(page)];
    });
    Free(item);
  });
  EmptyInbox();
}

void Heap::Retire(Item* item, Epochs* epochs) {
  std::size_t bytes = 0;
  ForEachSlot(item, [this, &bytes](const Page& page) {
    bytes += sizes_->SlotBytes(ClassOf(page));
    if (IsOwn(page)) ++returning_counts_[ClassOf(page)];
  });
  limbo.Retire(item, bytes, epochs);
}

}  // namespace cache
