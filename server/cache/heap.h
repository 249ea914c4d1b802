// Heap: all item memory of one thread: its slabs, its limbo, and the post between heaps.
//
// A slot goes back to the heap whose page it lies in. Slots of other heaps gather in an outbox each
// and are posted in batches, with one compare-and-swap, to the owner's inbox (a Treiber stack that
// is only ever emptied whole, so it needs no change count).
//
// A heap outlives the Cache that uses it: when that is off-line or gone, others may borrow the heap
// (Epochs::TryBorrow), to bring memory home that would otherwise wait for a sleeper.
//
// Owner: the SharedCache. Threads: Post any; everything else the heap's, or who borrows it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/cache/epochs.h"
#include "server/cache/limbo.h"
#include "server/cache/newcomers.h"
#include "server/cache/page_space.h"
#include "server/cache/size_classes.h"
#include "server/cache/slab_allocator.h"

namespace cache {

class Heap {
 public:
  Heap(PageSpace* space, const SizeClasses* classes, std::vector<Heap*> const* heaps,
       std::uint32_t thread);

  SlabAllocator slabs;
  Limbo limbo;
  std::vector<Newcomers> newcomers;  // By class.

  // Gives back all slots of an item that nobody can see: a draft, or one out of limbo.
  void Free(Item* item);
  void FreeSlot(void* slot);
  // An item that this thread has taken out of the index waits in limbo.
  void Retire(Item* item, Epochs* epochs);
  // Slots of this heap's own pages that wait in its limbo.
  [[nodiscard]] std::size_t ReturningCount(std::uint8_t class_id) const {
    return returning_counts_[class_id];
  }
  // Takes in what others have posted.
  void EmptyInbox();
  void PostAll();
  [[nodiscard]] bool has_mail() const { return inbox_.load(std::memory_order_relaxed) != nullptr; }
  // Frees what has passed `safe_epoch`, and takes in the inbox.
  void Collect(std::uint64_t safe_epoch);

 private:
  struct Outbox {
    void* first = nullptr;
    void* last = nullptr;
    std::size_t count = 0;
    std::size_t bytes = 0;
  };
  static constexpr std::size_t kOutboxSlots = 32;

  template <typename Visit>
  void ForEachSlot(const Item* item, Visit visit);
  [[nodiscard]] bool IsOwn(const Page& page) const {
    return page.owner.load(std::memory_order_relaxed) == thread_;
  }
  [[nodiscard]] static std::uint8_t ClassOf(const Page& page) {
    return page.class_id.load(std::memory_order_relaxed);
  }
  void Post(void* first, void* last);
  void Send(std::uint32_t thread);

  PageSpace* space_;
  const SizeClasses* sizes_;
  std::vector<Heap*> const* heaps_;
  std::uint32_t thread_;
  std::vector<Outbox> outboxes_;
  std::vector<std::uint32_t> returning_counts_;
  alignas(64) std::atomic<void*> inbox_{nullptr};
};

}  // namespace cache
