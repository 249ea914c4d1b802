// Cache::Impl: the working side of a Cache, in several files.
//
//   cache.cpp         the public calls, turns, finding
//   cache_memory.cpp  slots: fast, by evicting, and from other threads
//   cache_evict.cpp   taking items out, emptying pages, flushed items
//   cache_policy.cpp  which items stay: newcomers, residents, ghosts
//   cache_sweep.cpp   expired and flushed items, ahead of need
//   cache_mover.cpp   pages that go where memory is used faster, and the excess over the limit
//   draft.cpp         drafts and their memory
//   cache_store.cpp   Store
//   cache_delta.cpp   Add
//
// Owner: the Cache. Threads: its worker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "server/cache/cache.h"
#include "server/cache/item_access.h"
#include "server/cache/shared_impl.h"

namespace cache {

// How far a thread's sweep has come.
struct SweepState {
  bool is_running = false;  // A pass over all pages of the thread.
  bool is_in_page = false;
  std::uint8_t class_id = 1;
  std::size_t position = SIZE_MAX;  // Pages of the class still to come.
  std::uint32_t page = 0;
  std::uint32_t slot = 0;
  std::uint64_t slot_count = 0;  // Looked at in this pass.
  std::uint32_t next_pass_s = 0;
};

// What a thread's page mover is at.
struct MoverState {
  std::uint32_t measured_s = 0;
  std::vector<std::uint64_t> taken_counts;  // By class, at the last measurement.
  std::vector<float> page_rates;            // Pages a second, by class.
  float cache_rate = 0;                     // Of all threads, for each page.

  std::uint8_t surplus_class = 0;
  std::uint32_t surplus_count = 0;  // Pages still to be given this second.

  bool is_moving = false;
  std::uint8_t class_id = 0;
  std::uint32_t page = 0;
  std::uint32_t slot = 0;
  unsigned waits = 0;  // Slices spent on this slot.
};

struct Cache::Impl {
  using Shared = SharedCache::Impl;
  using Place = Index::Place;

  Impl(Cache* owner, Shared* shared_impl, std::uint32_t thread_index, stats::Block* stats_block)
      : cache(owner),
        shared(shared_impl),
        thread(thread_index),
        state(shared_impl->threads[thread_index].get()),
        heap(&state->heap),
        block(stats_block) {}

  Cache* cache;
  Shared* shared;
  std::uint32_t thread;
  ThreadState* state;
  Heap* heap;
  stats::Block* block;
  Now now;
  Miss last_miss = Miss::kAbsent;
  bool is_online = false;
  std::uint32_t housekept_s = 0;  // When memory was last brought home for its own sake.
  // Passed by AllocateSlow: items found before the last one may be gone.
  std::uint64_t quiescent_points = 0;
  bool demands_page = false;        // Is among those that SharedCache::Impl::page_demand counts.
  unsigned page_demand_turns = 0;   // Turns since the last one without page demand.
  std::uint32_t reserve_slots = 4;  // See cache_memory.cpp.
  std::uint32_t ghost_look_count = 0;
  std::uint64_t shrink_stamp = 0;  // When the index last shrank; 0: its memory is back.
  std::uint64_t shrink_count = 0;
  SweepState sweep;
  MoverState mover;
  std::size_t page_turn = 0;  // Which class gives a page next, of those with equally many.

  // How much a slot is wanted. kAhead: those on their way back to this thread from others will do.
  enum class Urgency : std::uint8_t { kAhead, kNow, kOnlyDead };

  // -- Turns (cache.cpp).
  void GoOnline(Now turn);
  void Quiesce();
  void GoOffline();
  bool Maintain();
  bool ResizeIndex();
  [[nodiscard]] bool IsDead(const Item* item) const {
    return shared->flush.Covers(item) || item->expiry().IsDue(now);
  }

  // -- Memory (cache_memory.cpp). Fast never makes this thread pass a quiescent point; Slow does.
  void* AllocateFast(std::uint8_t class_id);
  void* AllocateSlow(std::uint8_t class_id);
  void* Allocate(std::uint8_t class_id) {
    void* slot = AllocateFast(class_id);
    return slot != nullptr ? slot : AllocateSlow(class_id);
  }
  void* TakeIncludingPool(std::uint8_t class_id);
  [[nodiscard]] bool MayTakePage(std::uint8_t class_id) const;
  void DemandPage();
  void* TakeLarger(Heap* from, std::uint8_t class_id) const;
  void* TakeFromOthers(std::uint8_t class_id);
  void EvictAhead(std::uint8_t class_id);
  bool MakeRoom(std::uint8_t class_id, unsigned round);
  void CollectOwn();
  void PassQuiescentPoint();
  void LetOthersRun();
  void ShrinkReserve();
  template <typename Visit>
  bool ForEachSleeper(Visit visit);
  void BringHomeFromSleepers();
  bool TakePageFromSleepers();
  void GiveUpWhatIsWanted();

  // -- Removing (cache_evict.cpp). An item taken from the index is retired to this thread's limbo,
  // whoever's page it lies in.
  void Account(const Item* item, std::int64_t sign);
  void Discard(Item* item);
  bool RemoveFromIndex(Item* item);
  bool RemoveFromIndex(Item* item, std::uint64_t hash);
  bool Reclaim(Item* item);
  bool Evict(Item* item);
  bool EmptySomePage(Heap* from, std::uint8_t for_class);
  bool EmptyPage(Heap* from, std::uint32_t number, std::uint8_t for_class);
  [[nodiscard]] bool CanEmpty(std::uint32_t number) const;
  void RemoveFlushed();

  // -- Sweeping (cache_sweep.cpp). Returns whether a pass is under way.
  bool Sweep();
  bool FindPageToSweep(std::size_t* pages_left);
  void SweepSlot(Page* page, void* slot);
  // To be called for an item that is linked now, so that a sweep sees it or comes again.
  void NoteForSweep(const Item* item, std::uint32_t generation);

  // -- Moving (cache_mover.cpp).
  bool Move();
  void MeasureRates();
  void ChooseSurplus();
  void AnswerReassign();
  bool StartMove(std::uint8_t class_id, std::uint8_t to_class, bool is_asked);
  template <typename Visit>
  std::size_t ForEachSampled(std::uint32_t number, Visit visit) const;
  [[nodiscard]] std::size_t KeeperCount(std::uint32_t number) const;
  [[nodiscard]] bool IsWorthKeeping(const Item* item) const;
  bool MoveSlot(void* slot);
  bool MoveItem(Item* item, void* slot);
  void FinishMove();
  bool GiveUpExcess();
  [[nodiscard]] std::uint32_t SampleAge(std::uint8_t class_id) const;
  // The item that an item has been moved to since it was found, itself if it was not; null if it is
  // gone.
  Item* Follow(Item* item);
  void StartGeneration(bool only_if_due);

  // -- Choosing (cache_policy.cpp).
  void Admit(Item* item, const Item* old, std::uint64_t hash);
  bool IsGhost(std::uint64_t hash);
  void ListNewcomer(Item* item);
  [[nodiscard]] std::size_t NewcomerShare(std::uint8_t class_id) const;
  [[nodiscard]] Item* NewcomerAt(void* slot, std::uint8_t class_id) const;
  bool JudgeNewcomer(std::uint8_t class_id);
  bool JudgeResident(void* slot, Urgency urgency, Item** least_used);
  // Returns how many slots are free or will be soon.
  std::size_t EvictSome(std::uint8_t class_id, std::size_t count_wanted, Urgency urgency);

  // -- Drafts and storing (draft.cpp, cache_store.cpp). A draft of a chain has no pieces yet.
  Room Begin(const ItemPlan& plan, std::uint64_t hash, Draft* draft);
  // A draft with all its memory that has the same shape as `plan`: *draft if it has, else a new
  // one.
  Room BeginWhole(const ItemPlan& plan, std::uint64_t hash, Draft* draft);
  void Abandon(Draft* draft);
  std::span<char> RoomIn(Draft* draft);
  bool NextPiece(Draft* draft);
  bool ReserveChain(Draft* draft);
  ChainPiece* AddPiece(Item* head, ChainPiece* last, std::size_t value_bytes_left);
  [[nodiscard]] std::size_t PieceBytes(const ChainPiece* piece) const;
  [[nodiscard]] ItemPlan PlanFor(std::string_view key, std::uint32_t client_flags, Expiry expiry,
                                 std::size_t value_bytes) const;

  Stored Store(Draft* draft, const StoreRule& rule);
  // What `rule` says of a store that meets `old`, null for none.
  [[nodiscard]] static StoreResult Judge(const Item* old, const StoreRule& rule);
  void Join(const Item* old, const Draft& added, bool in_front, Draft* joined) const;
  static void MarkAsStale(const Item* old, Item* item);
  // Puts a full draft into a locked place and unlocks it. False when the index has no room.
  bool Publish(Place* place, std::uint32_t generation, Draft* draft);
  std::uint64_t CasFor(const Item* old, std::uint64_t explicit_cas);

  // -- Counting (cache_delta.cpp).
  Delta Add(const HashedKey& key, const DeltaRule& rule);
};

}  // namespace cache
