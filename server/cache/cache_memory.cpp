// Where slots come from: this thread's pages, the pool, its own evictions, and other threads.
#include <sched.h>

#include <algorithm>
#include <chrono>

#include "server/cache/cache_impl.h"
#include "server/cache/item_access.h"

namespace cache {
namespace {

// A thread never waits this long unless another one stays in its turn; then the store fails.
constexpr auto kWaitMax = std::chrono::seconds(2);
// Free slots that a class keeps by evicting ahead, so that a turn's stores need not wait for other
// threads; less in a class with few slots.
constexpr std::size_t kReserveSlotsMax = 32;
constexpr std::size_t kEvictBatch = 16;
// Rounds of waiting after which the heaps of sleepers are looked through (again).
constexpr unsigned kSleeperRounds = 16;
// Pages that a thread may be emptying for others at a time.
constexpr std::uint32_t kDrainingMax = 4;

}  // namespace

void* Cache::Impl::AllocateFast(std::uint8_t class_id) {
  void* slot = heap->slabs.Take(class_id);
  if (slot == nullptr) slot = TakeIncludingPool(class_id);
  if (slot != nullptr) EvictAhead(class_id);
  return slot;
}

void* Cache::Impl::TakeIncludingPool(std::uint8_t class_id) {
  CollectOwn();
  if (void* slot = heap->slabs.Take(class_id)) return slot;
  const std::uint32_t page = shared->pages->TakeFree();
  if (page == PageSpace::kNone) return nullptr;
  heap->slabs.AddPage(page, class_id);
  return heap->slabs.Take(class_id);
}

void Cache::Impl::EvictAhead(std::uint8_t class_id) {
  if (!shared->options.evicts || shared->pages->free_count() > 0) return;
  const std::size_t share = (heap->slabs.SlotCount(class_id) + 7) / 8;
  const std::size_t reserve = std::min(kReserveSlotsMax, share);
  if (heap->slabs.AvailableCount(class_id) + heap->limbo.waiting_count() >= reserve) return;
  EvictSome(class_id, 2, false);
}

// Each round lets other threads pass, takes what is free by then, and makes more free if nothing is
// on its way.
void* Cache::Impl::AllocateSlow(std::uint8_t class_id) {
  const auto deadline = std::chrono::steady_clock::now() + kWaitMax;
  bool has_demanded = false;
  void* slot = nullptr;
  for (unsigned round = 0;; ++round) {
    PassQuiescentPoint();
    slot = TakeIncludingPool(class_id);
    if (slot == nullptr && round % kSleeperRounds == 1) {
      BringHomeFromSleepers();
      slot = TakeIncludingPool(class_id);
    }
    if (slot != nullptr || (round > 0 && !shared->options.evicts)) break;
    if (std::chrono::steady_clock::now() > deadline) break;
    if (!MakeRoom(class_id, round == 0) && shared->options.evicts && !has_demanded) {
      has_demanded = true;
      shared->page_demand.fetch_add(1, std::memory_order_relaxed);
    }
    if (round > 0) sched_yield();  // Who is waited for may be waiting for this processor.
  }
  if (has_demanded) shared->page_demand.fetch_sub(1, std::memory_order_relaxed);
  if (slot == nullptr) block->classes[class_id].outofmemory.Add();
  return slot;
}

// False when nothing is on its way, nor can be evicted here or in the heap of a thread that sleeps.
bool Cache::Impl::MakeRoom(std::uint8_t class_id, bool is_first_round) {
  const bool only_dead = !shared->options.evicts;
  const auto is_waiting = [this] { return heap->limbo.waiting_count() > 0; };
  if (is_first_round || !is_waiting()) {
    const std::size_t share = heap->slabs.SlotCount(class_id) / 8;
    const std::size_t wanted = std::clamp<std::size_t>(share, 1, kEvictBatch);
    if (EvictSome(class_id, wanted, only_dead) > 0) return true;
  }
  if (is_waiting() || only_dead) return is_waiting();
  return EmptySomePage(heap, class_id) || TakePageFromSleepers();
}

void Cache::Impl::CollectOwn() { heap->Collect(shared->epochs.SafeEpoch()); }

void Cache::Impl::PassQuiescentPoint() {
  ++quiescent_points;
  heap->limbo.Close(&shared->epochs);
  shared->epochs.Quiesce(thread);
}

// Until visit(Heap*) returns true. Returns whether it did.
template <typename Visit>
bool Cache::Impl::ForEachSleeper(Visit visit) {
  const std::uint32_t count = shared->options.thread_count;
  for (std::uint32_t step = 1; step < count; ++step) {
    const std::uint32_t other = (thread + step) % count;
    if (!shared->epochs.TryBorrow(other)) continue;
    const bool is_done = visit(shared->heaps[other]);
    shared->epochs.GiveBack(other);
    if (is_done) return true;
  }
  return false;
}

void Cache::Impl::BringHomeFromSleepers() {
  heap->PostAll();
  ForEachSleeper([this](Heap* sleeper) {
    sleeper->limbo.Close(&shared->epochs);
    sleeper->Collect(shared->epochs.SafeEpoch());
    sleeper->PostAll();
    return false;
  });
  heap->EmptyInbox();
}

// From the one with the most pages, if it still sleeps, else from any.
bool Cache::Impl::TakePageFromSleepers() {
  const Heap* richest = nullptr;
  std::uint32_t page_count_max = 0;
  ForEachSleeper([&richest, &page_count_max](const Heap* sleeper) {
    if (sleeper->slabs.page_count() > page_count_max) {
      page_count_max = sleeper->slabs.page_count();
      richest = sleeper;
    }
    return false;
  });
  if (richest == nullptr) return false;
  return ForEachSleeper([this, richest](Heap* sleeper) {
           return sleeper == richest && EmptySomePage(sleeper, 0);
         }) ||
         ForEachSleeper([this](Heap* sleeper) { return EmptySomePage(sleeper, 0); });
}

void Cache::Impl::GiveUpPageIfWanted() {
  if (shared->page_demand.load(std::memory_order_relaxed) == 0) return;
  heap->PostAll();
  heap->limbo.Close(&shared->epochs);
  if (shared->pages->free_count() > 0 || heap->slabs.draining_count() >= kDrainingMax) return;
  EmptySomePage(heap, 0);
  heap->limbo.Close(&shared->epochs);
}

}  // namespace cache
