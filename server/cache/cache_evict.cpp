// Taking items out: one, a page at a time, and after a flush. Which one: cache_policy.cpp.
//
// A thread walks the slots of its own pages only, or of a sleeper whose heap it has borrowed, so a
// page's class and slots stand still while it does.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "server/cache/cache_impl.h"
#include "server/cache/item_access.h"
#include "server/cache/spin.h"

namespace cache {
void Cache::Impl::Account(const Item* item, std::int64_t sign) {
  block->curr_items.Add(sign);
  const std::int64_t bytes = sign * static_cast<std::int64_t>(ItemAccess::TotalBytes(item));
  block->bytes.Add(bytes);
  ThreadState::ClassFigures& figures = state->classes[cache->ClassOf(item)];
  figures.items += sign;
  figures.bytes += bytes;
}

// The item has just been taken out of the index by this thread.
void Cache::Impl::Discard(Item* item) {
  Account(item, -1);
  ItemAccess::MarkUnlinked(item);
  heap->Retire(item, &shared->epochs);
}

// False when another thread was faster.
bool Cache::Impl::RemoveFromIndex(Item* item) {
  return RemoveFromIndex(item, shared->index->Hash(item->key()));
}

bool Cache::Impl::RemoveFromIndex(Item* item, std::uint64_t hash) {
  for (;;) {
    Place place = shared->index->Look(hash, item->key());
    if (place.item != item) return false;
    if (!shared->index->Lock(&place)) continue;
    shared->index->Remove(&place, &state->index_local);
    shared->index->Unlock(place);
    Discard(item);
    return true;
  }
}

// A dead item makes room.
bool Cache::Impl::Reclaim(Item* item) {
  const bool is_flushed = shared->flush.Covers(item);
  const bool is_fetched = item->Has(Item::kFetched);
  stats::ClassBlock& counts = block->classes[cache->ClassOf(item)];
  if (!RemoveFromIndex(item)) return false;
  counts.reclaimed.Add();
  if (!is_flushed && !is_fetched) counts.expired_unfetched.Add();
  return true;
}

bool Cache::Impl::Evict(Item* item) {
  if (IsDead(item)) return Reclaim(item);
  const bool is_fetched = item->Has(Item::kFetched);
  const bool is_active = ItemAccess::Frequency(item) > 0;
  const bool expires = !item->expiry().is_never();
  stats::ClassBlock& counts = block->classes[cache->ClassOf(item)];
  const std::uint32_t idle_s = now.steady_s - std::min(now.steady_s, item->last_access_s());
  const std::uint64_t hash = shared->index->Hash(item->key());
  if (!RemoveFromIndex(item, hash)) return false;
  shared->ghosts->Add(hash);
  state->classes[cache->ClassOf(item)].evicted_idle_s = idle_s;
  counts.evictions.Add();
  if (expires) counts.evicted_nonzero.Add();
  if (!is_fetched) counts.evicted_unfetched.Add();
  if (is_active) counts.evicted_active.Add();
  return true;
}

// Drafts are filled by their client's pace and pinned items sent by it: such a page would stay.
bool Cache::Impl::CanEmpty(std::uint32_t number) const {
  const Page& page = shared->pages->At(number);
  if (page.is_draining) return false;
  const std::size_t slot_bytes =
      shared->sizes.SlotBytes(page.class_id.load(std::memory_order_relaxed));
  for (std::size_t slot = 0; slot < page.carved_count; ++slot) {
    void* at = shared->pages->Start(number) + slot * slot_bytes;
    const std::uint8_t state_byte = ItemAccess::StateOf(at).load(std::memory_order_acquire);
    const auto kind = static_cast<SlotKind>(state_byte & ItemAccess::kKindMask);
    if (kind == SlotKind::kFree) continue;
    const Item* item = kind == SlotKind::kPiece ? static_cast<ChainPiece*>(at)->head
                                                : static_cast<const Item*>(at);
    if (ItemAccess::IsPinned(item)) return false;
  }
  return true;
}

// Its items go, and it will be `for_class`'s or the pool's when their slots have come back.
bool Cache::Impl::EmptyPage(Heap* from, std::uint32_t number, std::uint8_t for_class) {
  if (!CanEmpty(number)) return false;
  const Page& page = shared->pages->At(number);
  const std::size_t slot_bytes =
      shared->sizes.SlotBytes(page.class_id.load(std::memory_order_relaxed));
  for (std::size_t slot = 0; slot < page.carved_count; ++slot) {
    Item* item = ItemAccess::LinkedItemAt(shared->pages->Start(number) + slot * slot_bytes);
    if (item != nullptr) Evict(item);
  }
  from->slabs.Drain(number, for_class);
  return true;
}

// From the class with the most pages, if one of them can be emptied now; classes with equally many
// take turns. The page is for a class of the same heap, or for anybody.
bool Cache::Impl::EmptySomePage(Heap* from, std::uint8_t for_class) {
  struct Candidate {
    std::size_t page_count;
    std::size_t turn;
    std::uint8_t class_id;
  };
  std::vector<Candidate> candidates;
  const std::size_t class_count = shared->sizes.count();
  ++page_turn;
  for (std::size_t turn = 0; turn < class_count; ++turn) {
    const auto class_id = static_cast<std::uint8_t>(1 + (page_turn + turn) % class_count);
    const std::size_t page_count = from->slabs.PagesOf(class_id).size();
    if (page_count > 0 && class_id != for_class) candidates.push_back({page_count, turn, class_id});
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.page_count != b.page_count ? a.page_count > b.page_count : a.turn < b.turn;
  });
  for (const Candidate& candidate : candidates) {
    for (std::size_t position = 0; position < candidate.page_count; ++position) {
      if (EmptyPage(from, from->slabs.PagesOf(candidate.class_id)[position], for_class))
        return true;
    }
  }
  return false;
}

// Items of old generations, wherever they lie. Walks the whole index; see StartGeneration.
void Cache::Impl::RemoveFlushed() {
  Spin spin;
  while (!shared->index->HoldSize()) spin.Wait();
  std::array<Item*, 64> found{};
  for (std::uint64_t pair = 0; pair < shared->index->pair_count(); ++pair) {
    for (std::size_t found_count = 1; found_count > 0;) {
      found_count = 0;
      shared->index->ForEachInPair(pair, [this, &found, &found_count](Item* item) {
        if (found_count < found.size() && shared->flush.Covers(item)) found[found_count++] = item;
      });
      for (std::size_t at = 0; at < found_count; ++at) Reclaim(found[at]);
    }
    if (heap->limbo.has_closed()) {
      PassQuiescentPoint();
      CollectOwn();
    }
  }
  shared->index->FreeSize();
}

// Before a generation's number can come round again, what is left of its last use is removed. That
// takes many flushes with little reclaimed in between.
void Cache::Impl::StartGeneration(bool only_if_due) {
  const std::lock_guard<std::mutex> lock(shared->flush_mutex);
  if (only_if_due && !shared->flush.IsDue(now)) return;
  const std::uint32_t generation = shared->flush.generation();
  if (generation - shared->oldest_generation >= ItemAccess::kGenerationCount - 2) {
    RemoveFlushed();
    shared->oldest_generation = generation;
  }
  if (only_if_due) {
    shared->flush.FireIfDue(now);
  } else {
    shared->flush.Flush();
  }
}

}  // namespace cache
