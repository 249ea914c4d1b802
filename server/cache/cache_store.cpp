// Store: judging what is there and swapping the draft in.
#include <bit>

#include "coro/ensure.h"
#include "server/cache/cache_impl.h"
#include "server/cache/item_access.h"

namespace cache {
namespace {

bool Joins(StoreMode mode) { return mode == StoreMode::kAppend || mode == StoreMode::kPrepend; }

bool IsOlder(const Item* old, const StoreRule& rule) {
  return rule.mode == StoreMode::kCas && rule.stale_if_older && rule.compare_cas < old->cas();
}

}  // namespace

StoreResult Cache::Impl::Judge(const Item* old, const StoreRule& rule) {
  if (old == nullptr) {
    if (rule.mode == StoreMode::kCas) return StoreResult::kNotFound;
    if (rule.mode == StoreMode::kReplace || (Joins(rule.mode) && !rule.creates)) {
      return StoreResult::kNotStored;
    }
    return StoreResult::kStored;
  }
  if (rule.mode == StoreMode::kAdd) return StoreResult::kNotStored;
  if (rule.compare_cas == 0) {
    return rule.mode == StoreMode::kCas ? StoreResult::kExists : StoreResult::kStored;
  }
  return rule.compare_cas == old->cas() || IsOlder(old, rule) ? StoreResult::kStored
                                                              : StoreResult::kExists;
}

// What is judged is what was there at Look; Lock fails when that has changed since. The generation
// is read first: if a flush comes between, the item is stored as one from before it.
Stored Cache::Impl::Store(Draft* draft, const StoreRule& rule) {
  ENSURE(is_online && draft->is_open() && draft->missing_bytes() == 0);
  const std::uint64_t hash = draft->hash_;
  const Expiry expiry = draft->item_->expiry();
  Draft whole = std::move(*draft);
  Draft joined;
  for (;;) {
    const std::uint32_t generation = shared->flush.generation();
    Place place = shared->index->Look(hash, whole.key());
    const Item* old = place.item != nullptr && !IsDead(place.item) ? place.item : nullptr;
    Stored stored{.result = Judge(old, rule), .class_id = whole.class_id()};
    if (rule.mode == StoreMode::kCas && old != nullptr) stored.class_id = cache->ClassOf(old);
    if (stored.result != StoreResult::kStored) return stored;
    Draft* full = &whole;
    if (old != nullptr && Joins(rule.mode)) {
      const std::uint64_t before = quiescent_points;
      const std::size_t value_bytes = std::size_t{old->value_bytes()} + whole.item_->value_bytes();
      if (value_bytes > shared->options.item_bytes_max) return {.result = StoreResult::kTooLarge};
      const Room room = BeginWhole(
          PlanFor(whole.key(), old->client_flags(), old->expiry(), value_bytes), hash, &joined);
      if (room == Room::kTooLarge) return {.result = StoreResult::kTooLarge};
      if (room == Room::kNoMemory) return {.result = StoreResult::kNoMemory};
      if (quiescent_points != before) continue;  // The old item may be gone: look again.
      Join(old, whole, rule.mode == StoreMode::kPrepend, &joined);
      full = &joined;
      stored.class_id = joined.class_id();
    }
    ItemAccess::SetExpiry(whole.item_, expiry);
    ItemAccess::TakeState(whole.item_, Item::kStale | Item::kTokenSent);
    if (rule.sends_token) ItemAccess::AddState(whole.item_, Item::kTokenSent);
    if (old != nullptr && IsOlder(old, rule)) MarkAsStale(old, whole.item_);
    stored.cas = CasFor(place.item, rule.explicit_cas);
    stored.value_bytes = full->item_->value_bytes();
    ItemAccess::SetCas(full->item_, stored.cas);
    Admit(full->item_, old, hash);
    shared->index->Refill(&state->index_local);
    if (!shared->index->Lock(&place)) continue;
    if (!Publish(&place, generation, full)) return {.result = StoreResult::kNoMemory};
    return stored;
  }
}

// `joined` has the shape of both together and all its memory.
void Cache::Impl::Join(const Item* old, const Draft& added, bool in_front, Draft* joined) const {
  const auto append = [joined](std::string_view piece) { ENSURE(joined->Append(piece)); };
  if (!in_front) cache->ForEachPiece(old, append);
  cache->ForEachPiece(added.item_, append);
  if (in_front) cache->ForEachPiece(old, append);
  if (old->Has(Item::kKeyBinary)) joined->MarkKeyBinary();
}

// The value is not the newest: it keeps the time to live and the token of the one it replaces.
void Cache::Impl::MarkAsStale(const Item* old, Item* item) {
  ItemAccess::SetExpiry(item, old->expiry());
  ItemAccess::AddState(item, Item::kStale | (old->state() & Item::kTokenSent));
}

bool Cache::Impl::Publish(Place* place, std::uint32_t generation, Draft* draft) {
  Item* item = draft->item_;
  ItemAccess::SetGeneration(item, generation);
  ItemAccess::SetLastAccess(item, now.steady_s);
  ItemAccess::MarkLinked(item);
  NoteForSweep(item, generation);
  Item* old = place->item;
  if (old != nullptr) {
    shared->index->Replace(*place, item);
  } else if (!shared->index->Insert(place, item, &state->index_local)) {
    ItemAccess::MarkUnlinked(item);
    shared->index->Unlock(*place);
    return false;
  }
  shared->index->Unlock(*place);
  draft->item_ = nullptr;
  Account(item, 1);
  block->total_items.Add();
  if (ItemAccess::IsNewcomer(item)) ListNewcomer(item);
  if (old != nullptr) {
    Discard(old);
  } else if (shared->index->NeedsGrowth()) {
    shared->index->GrowOne(&state->index_local);
  }
  return true;
}

// Counted up by each thread for itself, with the thread in the low bits, so ids are unique; and
// above the old item's, so they rise with every change of a key. A client's own id may be so large
// that counting on from it would run out: such a one is not followed.
std::uint64_t Cache::Impl::CasFor(const Item* old, std::uint64_t explicit_cas) {
  if (!shared->options.has_cas) return 0;
  if (explicit_cas != 0) return explicit_cas;
  const auto thread_bits = static_cast<unsigned>(std::bit_width(shared->options.thread_count - 1));
  constexpr std::uint64_t kFollowedMax = std::uint64_t{1} << 48;
  const std::uint64_t old_count = old == nullptr ? 0 : old->cas() >> thread_bits;
  if (old_count < kFollowedMax && old_count > state->cas_counter) state->cas_counter = old_count;
  return ++state->cas_counter << thread_bits | thread;
}

}  // namespace cache
