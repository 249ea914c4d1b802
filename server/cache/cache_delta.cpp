// Add: incr and decr.
#include <algorithm>
#include <cstring>
#include <optional>

#include "server/cache/cache_impl.h"
#include "server/cache/item_access.h"
#include "server/cache/number.h"

namespace cache {
namespace {

// Up wraps at 2^64, down stops at 0.
std::uint64_t Apply(std::uint64_t number, const DeltaRule& rule) {
  if (!rule.decrements) return number + rule.delta;
  return number - std::min(number, rule.delta);
}

// The new number takes the old one's place and length if it fits: blanks follow it.
void CopyMarks(const Item* old, Item* item) {
  constexpr std::uint8_t kMoved = Item::kKeyBinary;
  constexpr std::uint8_t kMovedInPlace = kMoved | Item::kFetched | Item::kStale | Item::kTokenSent;
  const bool in_place = old->value_bytes() == item->value_bytes();
  const std::uint8_t marks = old->state() & (in_place ? kMovedInPlace : kMoved);
  ItemAccess::TakeState(item, kMovedInPlace);
  ItemAccess::AddState(item, marks);
}

}  // namespace

// As Store: judged at Look, done if nothing has changed by Lock.
Delta Cache::Impl::Add(const HashedKey& key, const DeltaRule& rule) {
  Draft draft;
  for (;;) {
    const std::uint32_t generation = shared->flush.generation();
    Place place = shared->index->Look(key.hash, key.text);
    const Item* old = place.item != nullptr && !IsDead(place.item) ? place.item : nullptr;
    Delta delta{.result = DeltaResult::kOk, .value = rule.initial, .expiry = rule.create_expiry};
    std::uint32_t client_flags = 0;
    std::size_t value_bytes = 0;
    if (old != nullptr) {
      delta.class_id = cache->ClassOf(old);
      const bool is_chained = old->Has(Item::kChained);
      const auto number = is_chained ? std::nullopt : ParseNumber(old->value());
      const bool exists = rule.compare_cas != 0 && rule.compare_cas != old->cas();
      if (is_chained || old->value_bytes() == 0) return {.result = DeltaResult::kNonNumeric};
      if (exists) return {.result = DeltaResult::kExists, .class_id = delta.class_id};
      if (!number) return {.result = DeltaResult::kNonNumeric};
      delta.value = Apply(*number, rule);
      delta.old_expiry = old->expiry();
      delta.expiry = rule.sets_expiry ? rule.expiry : delta.old_expiry;
      client_flags = old->client_flags();
      value_bytes = old->value_bytes();
    } else if (!rule.creates) {
      return {};
    }
    const NumberText digits(delta.value);
    value_bytes = std::max(value_bytes, digits.text().size());
    const std::uint64_t before = quiescent_points;
    const ItemPlan plan = PlanFor(key.text, client_flags, delta.expiry, value_bytes);
    if (BeginWhole(plan, key.hash, &draft) != Room::kOk) return {.result = DeltaResult::kNoMemory};
    if (quiescent_points != before) continue;
    char* value = draft.Room().data();
    std::memcpy(value, digits.text().data(), digits.text().size());
    std::memset(value + digits.text().size(), ' ', value_bytes - digits.text().size());
    if (old != nullptr) CopyMarks(old, draft.item_);
    delta.created = old == nullptr;
    if (delta.created) delta.class_id = draft.class_id();
    delta.cas = CasFor(place.item, rule.explicit_cas);
    ItemAccess::SetCas(draft.item_, delta.cas);
    Admit(draft.item_, old, key.hash);
    shared->index->Refill(&state->index_local);
    if (!shared->index->Lock(&place)) continue;
    if (!Publish(&place, generation, &draft)) return {.result = DeltaResult::kNoMemory};
    return delta;
  }
}

}  // namespace cache
