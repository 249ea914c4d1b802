// Where slots come from: this thread's pages, the pool, its own evictions, and other threads.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "server/cache/cache_impl.h"
#include "server/cache/item_access.h"

namespace cache {
namespace {

// A thread never waits this long unless another one stays in its turn; then the store fails.
constexpr auto kWaitMax = std::chrono::seconds(2);
// Free slots that a class keeps by evicting ahead, so that stores need not wait for other threads;
// less in a class with few slots. A thread that had to wait keeps twice as many, then lets go of
// them over some seconds: alone it never waits, and memory is for items.
constexpr std::uint32_t kReserveSlotsMin = 4;
constexpr std::uint32_t kReserveSlotsMax = 64;
constexpr std::size_t kEvictAhead = 8;
constexpr std::size_t kEvictBatch = 16;
// How many classes further a slot may come from when its own has none: 12 % larger.
constexpr std::size_t kLargerClassesMax = 2;
// How often a thread that does not sleep is looked for again, before a store is refused.
constexpr unsigned kAskRounds = 64;
// Rounds of waiting after which the heaps of sleepers are looked through (again).
constexpr unsigned kSleeperRounds = 16;
// Turns with a page wanted after which a thread gives one although it has no more than its share.
constexpr unsigned kUnsharedTurns = 64;
// Pages that a thread may be emptying for others at a time.
constexpr std::uint32_t kDrainingMax = 4;

}  // namespace

void* Cache::Impl::AllocateFast(std::uint8_t class_id) {
  void* slot = heap->slabs.Take(class_id);
  if (slot == nullptr) slot = TakeIncludingPool(class_id);
  EvictAhead(class_id);
  return slot != nullptr ? slot : TakeLarger(heap, class_id);
}

void* Cache::Impl::TakeIncludingPool(std::uint8_t class_id) {
  CollectOwn();
  if (void* slot = heap->slabs.Take(class_id)) return slot;
  if (!MayTakePage(class_id)) return nullptr;
  const std::uint32_t page = shared->pages->TakeFree();
  if (page == PageSpace::kNone) return nullptr;
  heap->slabs.AddPage(page, class_id);
  return heap->slabs.Take(class_id);
}

// Who can evict in the class leaves pages to those that have none and wait for one.
bool Cache::Impl::MayTakePage(std::uint8_t class_id) const {
  return demands_page || !shared->options.evicts || heap->slabs.SlotCount(class_id) == 0 ||
         shared->page_demand.load(std::memory_order_relaxed) == 0;
}

// Rather than wait for other threads: a little of the slot is lost until the item goes.
void* Cache::Impl::TakeLarger(Heap* from, std::uint8_t class_id) const {
  const std::size_t last = std::min(shared->sizes.count(), class_id + kLargerClassesMax);
  for (std::size_t larger = class_id + 1U; larger <= last; ++larger) {
    if (void* slot = from->slabs.Take(static_cast<std::uint8_t>(larger))) return slot;
  }
  return nullptr;
}

// Slots on their way back count as free: they come with the next grace period.
void Cache::Impl::EvictAhead(std::uint8_t class_id) {
  if (!shared->options.evicts || shared->pages->free_count() > 0) return;
  const std::size_t share = (heap->slabs.SlotCount(class_id) + 7) / 8;
  const std::size_t reserve = std::min<std::size_t>(reserve_slots, share);
  if (heap->slabs.AvailableCount(class_id) + heap->ReturningCount(class_id) >= reserve) return;
  EvictSome(class_id, std::min(reserve, kEvictAhead), Urgency::kAhead);
}

// Each round takes what is free by then, makes more free if nothing is on its way, and lets other
// threads run, off-line, so that none waits for one that waits.
void* Cache::Impl::AllocateSlow(std::uint8_t class_id) {
  const auto deadline = std::chrono::steady_clock::now() + kWaitMax;
  bool waited = false;
  void* slot = nullptr;
  for (unsigned round = 0; slot == nullptr; ++round) {
    PassQuiescentPoint();
    if (round % kSleeperRounds == 1) BringHomeFromSleepers();
    slot = TakeIncludingPool(class_id);
    if (slot == nullptr && round > 0 && !shared->options.evicts) {
      slot = TakeFromOthers(class_id);
      break;
    }
    if (slot != nullptr) break;
    if (std::chrono::steady_clock::now() > deadline) break;
    const bool can_make_room = MakeRoom(class_id, round);
    if (!can_make_room || heap->slabs.SlotCount(class_id) == 0) DemandPage();
    if (round == 1) shared->slot_demand.fetch_add(1, std::memory_order_relaxed);
    if (round > 0) LetOthersRun();
    waited = round > 0;
  }
  if (waited) {
    shared->slot_demand.fetch_sub(1, std::memory_order_relaxed);
    reserve_slots = std::min(reserve_slots * 2, kReserveSlotsMax);
  }
  if (demands_page) shared->page_demand.fetch_sub(1, std::memory_order_relaxed);
  demands_page = false;
  if (slot == nullptr) block->classes[class_id].outofmemory.Add();
  return slot;
}

// Without eviction a free slot is good wherever it lies: its item will be a guest in another
// thread's page. Each thread is asked while it sleeps, until nothing of its limbo is on its way.
void* Cache::Impl::TakeFromOthers(std::uint8_t class_id) {
  std::vector<bool> is_asked(shared->options.thread_count);
  is_asked[thread] = true;
  std::size_t unasked_count = is_asked.size() - 1;
  void* slot = nullptr;
  for (unsigned round = 0; round < kAskRounds && unasked_count > 0 && slot == nullptr; ++round) {
    if (round > 0) LetOthersRun();
    for (std::uint32_t other = 0; other < is_asked.size() && slot == nullptr; ++other) {
      if (is_asked[other] || !shared->epochs.TryBorrow(other)) continue;
      Heap* from = shared->heaps[other];
      from->limbo.Close(&shared->epochs);
      from->Collect(shared->epochs.SafeEpoch());
      from->PostAll();
      slot = from->slabs.Take(class_id);
      if (slot == nullptr) slot = TakeLarger(from, class_id);
      if (from->limbo.waiting_count() == 0) {
        is_asked[other] = true;
        --unasked_count;
      }
      shared->epochs.GiveBack(other);
    }
    heap->EmptyInbox();
    if (slot == nullptr) slot = heap->slabs.Take(class_id);
  }
  return slot;
}

void Cache::Impl::DemandPage() {
  if (demands_page || !shared->options.evicts) return;
  demands_page = true;
  shared->page_demand.fetch_add(1, std::memory_order_relaxed);
}

void Cache::Impl::ShrinkReserve() {
  reserve_slots = std::max(reserve_slots - reserve_slots / 4, kReserveSlotsMin);
}

// Who is waited for may be waiting for this processor.
void Cache::Impl::LetOthersRun() {
  shared->epochs.Leave(thread);
  sched_yield();
  shared->epochs.Enter(thread);
}

// False when nothing is on its way, nor can be evicted here or in the heap of a thread that sleeps.
bool Cache::Impl::MakeRoom(std::uint8_t class_id, unsigned round) {
  const bool only_dead = !shared->options.evicts;
  const Urgency urgency = only_dead    ? Urgency::kOnlyDead
                          : round == 0 ? Urgency::kAhead
                                       : Urgency::kNow;
  const auto is_returning = [this, class_id] { return heap->ReturningCount(class_id) > 0; };
  if (round == 0 || !is_returning()) {
    const std::size_t share = heap->slabs.SlotCount(class_id) / 8;
    const std::size_t wanted = std::clamp<std::size_t>(share, 1, kEvictBatch);
    if (EvictSome(class_id, wanted, urgency) > 0) return true;
  }
  const bool is_waiting = is_returning() || heap->limbo.waiting_count() > 0;
  if (is_waiting || only_dead) return is_waiting;
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

// The first to give pages are those that have more than their share.
void Cache::Impl::GiveUpWhatIsWanted() {
  const std::uint32_t page_demand = shared->page_demand.load(std::memory_order_relaxed);
  const std::uint32_t slot_demand = shared->slot_demand.load(std::memory_order_relaxed);
  page_demand_turns = page_demand > 0 ? page_demand_turns + 1 : 0;
  if (page_demand + slot_demand == 0) return;
  CollectOwn();
  heap->PostAll();
  const std::size_t share = shared->pages->page_count() / shared->options.thread_count;
  const bool gives = heap->slabs.page_count() > share || page_demand_turns > kUnsharedTurns;
  const std::uint32_t draining_max = std::min(page_demand, kDrainingMax);
  if (gives && shared->pages->free_count() == 0 && heap->slabs.draining_count() < draining_max) {
    EmptySomePage(heap, 0);
  }
  heap->limbo.Close(&shared->epochs);
}

}  // namespace cache
