// PageSpace: one reserved range of memory, cut into pages of equal size, and the pool of those that
// no thread has.
//
// The range is larger than the memory limit, which says how many pages threads may hold at once and
// can change. Once it has been lowered, pages that come back lose their memory to the system.
//
// A page belongs to the pool or to one thread's SlabAllocator. Its description lies apart from the
// slots, on a cache line of its own, found from an address by a shift.
//
// Owner: the SharedCache. Threads: TakeFree and GiveFree any; a Page's fields as marked.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "server/cache/clock.h"
#include "server/cache/mapping.h"

namespace cache {

// A number that its owner writes and anybody may read, late. It stands for the number itself.
template <typename Number>
class Owned {
 public:
  Owned(Number number = 0) : number_(number) {}  // NOLINT(google-explicit-constructor)
  Owned& operator=(Number number) {
    number_.store(number, std::memory_order_relaxed);
    return *this;
  }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator Number() const { return number_.load(std::memory_order_relaxed); }
  Owned& operator+=(Number change) { return *this = static_cast<Number>(*this + change); }
  Owned& operator++() { return *this += 1; }
  Owned& operator--() { return *this = static_cast<Number>(*this - 1); }

 private:
  std::atomic<Number> number_;
};

struct alignas(64) Page {
  // The pool's link: page number + 1, 0 at the end. Written by whoever gives the page back.
  std::atomic<std::uint32_t> next_free{0};
  // Written when a page changes hands; read by whoever holds a slot of it, for whom both stand.
  std::atomic<std::uint32_t> owner{0};
  std::atomic<std::uint8_t> class_id{0};  // 0: in the pool.

  // The owner's alone, but for what is Owned.
  bool is_open = false;      // In its class's list of pages with free slots.
  bool is_draining = false;  // Gives no slots any more; goes on when the last is back.
  std::uint8_t next_class =
      0;  // Of this owner's, which gets the page then; 0: it goes to the pool.
  std::uint32_t slot_count = 0;
  Owned<std::uint32_t> carved_count;  // Slots from here on were never handed out.
  Owned<std::uint32_t> free_count;    // Of the carved ones.
  std::uint32_t class_position = 0;
  void* free_list = nullptr;  // Linked through the first 8 bytes of each slot.
  // Items of generations before this one have been swept out. Lowered by who stores an older one.
  std::atomic<std::uint32_t> swept_generation{0};

  // No item of the page is due before these, by either clock. Writers: the owner, and who touches
  // an item of the page.
  std::atomic<std::uint32_t> due_steady_s{kNeverDue};
  std::atomic<std::uint32_t> due_wall_s{kNeverDue};

  static constexpr std::uint32_t kNeverDue = UINT32_MAX;
  [[nodiscard]] bool HasDue(Now now) const {
    return due_steady_s.load(std::memory_order_relaxed) <= now.steady_s ||
           due_wall_s.load(std::memory_order_relaxed) <= now.wall_s;
  }
  void ForgetDue() {
    due_steady_s.exchange(kNeverDue, std::memory_order_acq_rel);
    due_wall_s.exchange(kNeverDue, std::memory_order_acq_rel);
  }
  // An item of the page has been given this expiry. A change even where the bound is low already:
  // either it comes after ForgetDue, or the sweep that forgets sees the item's new expiry.
  void LowerDue(Expiry expiry) {
    if (expiry.is_never()) return;
    std::atomic<std::uint32_t>& due_s = expiry.is_wall() ? due_wall_s : due_steady_s;
    std::uint32_t bound_s = due_s.load(std::memory_order_relaxed);
    while (!due_s.compare_exchange_weak(bound_s, std::min(bound_s, expiry.seconds()),
                                        std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
  }
  // The same by the owner, who also sweeps.
  void LowerDueAsOwner(Expiry expiry) {
    if (expiry.is_never()) return;
    const auto& due_s = expiry.is_wall() ? due_wall_s : due_steady_s;
    if (due_s.load(std::memory_order_relaxed) > expiry.seconds()) LowerDue(expiry);
  }

  [[nodiscard]] std::uint32_t used_count() const { return carved_count - free_count; }
  [[nodiscard]] std::uint32_t available_count() const { return slot_count - used_count(); }
};
static_assert(sizeof(Page) == 64);

class PageSpace {
 public:
  // `page_bytes` is a power of two, page_count the limit at first, at most `page_count_max`. On
  // failure returns null and puts the reason into *error.
  static std::unique_ptr<PageSpace> Reserve(std::size_t page_bytes, std::uint32_t page_count,
                                            std::uint32_t page_count_max, std::string* error);
  PageSpace(const PageSpace&) = delete;
  PageSpace& operator=(const PageSpace&) = delete;

  [[nodiscard]] std::size_t page_bytes() const { return std::size_t{1} << page_shift_; }
  // How many pages threads may hold.
  [[nodiscard]] std::uint32_t page_count() const { return limit_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t page_count_max() const { return page_count_max_; }
  // Pages from here on have never been used.
  [[nodiscard]] std::uint32_t used_until() const {
    return std::min(unused_from_.load(std::memory_order_relaxed), page_count_max_);
  }
  [[nodiscard]] std::uint32_t NumberOf(const void* slot) const {
    return static_cast<std::uint32_t>(
        static_cast<std::size_t>(static_cast<const char*>(slot) - base_) >> page_shift_);
  }
  [[nodiscard]] Page& At(std::uint32_t page) { return pages_[page]; }
  [[nodiscard]] Page& Of(const void* slot) { return pages_[NumberOf(slot)]; }
  [[nodiscard]] char* Start(std::uint32_t page) const {
    return base_ + (std::size_t{page} << page_shift_);
  }

  static constexpr std::uint32_t kNone = UINT32_MAX;
  // A page of the pool, or kNone.
  std::uint32_t TakeFree();
  void GiveFree(std::uint32_t page);
  // May be out of date when they return.
  [[nodiscard]] std::uint32_t held_count() const {
    return held_count_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t free_count() const {
    const std::uint32_t held = held_count();
    return page_count() > held ? page_count() - held : 0;
  }
  // Pages that threads hold beyond the limit.
  [[nodiscard]] std::uint32_t excess_count() const {
    const std::uint32_t held = held_count();
    return held > page_count() ? held - page_count() : 0;
  }
  // Huge pages where the system has them.
  void AllowHugePages() { memory_->AllowHugePages(); }
  // Insists on them, and takes all memory up to the limit now. Returns why not, or nothing.
  [[nodiscard]] std::string UseLargePages();
  // A slice of work that makes the next fresh page ready for use. Returns whether more is to do.
  bool PopulateAhead();
  // At most page_count_max. A lower one takes the memory of free pages back at once; threads are to
  // give up the excess.
  void SetPageCount(std::uint32_t page_count);

 private:
  PageSpace(std::unique_ptr<Mapping> memory, std::unique_ptr<Mapping> descriptions,
            std::size_t page_bytes, std::uint32_t page_count);

  std::uint32_t Pop();
  void Push(std::uint32_t page);
  void ReturnMemory(std::uint32_t page);

  std::unique_ptr<Mapping> memory_;
  std::unique_ptr<Mapping> descriptions_;
  char* base_;
  Page* pages_;
  unsigned page_shift_;
  std::uint32_t page_count_max_;

  // The pool is a stack (R. K. Treiber, "Systems Programming: Coping with Parallelism", 1986); the
  // upper half of its head counts changes, so that a head seen twice is the same head.
  alignas(64) std::atomic<std::uint64_t> free_head_{0};
  std::atomic<std::uint32_t> unused_from_{0};
  std::atomic<std::uint32_t> held_count_{0};
  std::atomic<std::uint32_t> limit_;
  std::atomic<std::size_t> populated_bytes_{0};
};

}  // namespace cache
