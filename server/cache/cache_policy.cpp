// Which items stay: S3-FIFO (J. Yang, Y. Zhang, Z. Qiu, Y. Yue, K. V. Rashmi, "FIFO queues are all
// you need for cache eviction", SOSP 2023), with slots in place of its queues.
//
// Each class of each thread has a list of its newcomers, a sixth of its slots. The oldest newcomer
// joins the residents where it lies if it has been read, else it goes. Residents are walked by a
// hand over the slots, as CLOCK does (F. J. Corbato, "A paging experiment with the Multics system",
// 1969), with a frequency of up to three. A key that left not long ago and comes back is a resident
// at once. Settings: docs/decisions/eviction-policy.md.
//
// A thread walks the slots of its own pages only.
#include <algorithm>

#include "server/cache/cache_impl.h"
#include "server/cache/item_access.h"

namespace cache {
namespace {

// Slots that may be passed for one victim: bounds the time of one store.
constexpr std::size_t kPassedSlotsMax = 512;
// Of a class's slots, in percent.
constexpr std::size_t kNewcomerShare = 15;
// In a class with fewer slots all items are residents: two newcomers would be a queue of nothing.
constexpr std::size_t kSlotsForNewcomers = 16;
// Ghosts looked for until their table is fitted to the number of items again.
constexpr std::uint32_t kLooksPerFit = 1024;

// Taken from the index, by whatever thread, and soon free. A draft counts as pinned.
bool IsRetired(void* slot) {
  const std::uint8_t state = ItemAccess::StateOf(slot).load(std::memory_order_acquire);
  const auto kind = static_cast<SlotKind>(state & ItemAccess::kKindMask);
  if (kind == SlotKind::kPrivate) return !ItemAccess::IsPinned(static_cast<Item*>(slot));
  if (kind != SlotKind::kPiece) return false;
  const Item* head = static_cast<ChainPiece*>(slot)->head;
  return ItemAccess::KindOf(head) == SlotKind::kPrivate && !ItemAccess::IsPinned(head);
}

}  // namespace

// Before the item is published; `old` is what it replaces, null for nothing. One that replaces
// another is known as well as that was. While there are free pages nobody has to go, so all are
// residents; so are chains, which are met by the hand of another class, piece by piece.
void Cache::Impl::Admit(Item* item, const Item* old, std::uint64_t hash) {
  const Page& page = shared->pages->Of(item);
  const std::uint8_t class_id = page.class_id.load(std::memory_order_relaxed);
  bool is_newcomer = false;
  if (old != nullptr) {
    ItemAccess::SetFrequency(item, ItemAccess::Frequency(old));
    is_newcomer = ItemAccess::IsNewcomer(old) && ItemAccess::Frequency(old) == 0;
  } else {
    is_newcomer = shared->options.evicts && shared->pages->free_count() == 0 &&
                  heap->slabs.SlotCount(class_id) >= kSlotsForNewcomers && !IsGhost(hash);
  }
  const bool is_guest = page.owner.load(std::memory_order_relaxed) != thread;
  if (is_newcomer && !is_guest && !item->Has(Item::kChained)) {
    ItemAccess::MarkNewcomer(item);
  } else {
    ItemAccess::MarkResident(item);  // An earlier attempt to store it may have said otherwise.
  }
}

bool Cache::Impl::IsGhost(std::uint64_t hash) {
  if (ghost_look_count++ % kLooksPerFit == 0) shared->ghosts->Fit(shared->index->entry_count());
  return shared->ghosts->Take(hash);
}

// Once it is published. A class whose items are replaced rather than evicted sheds its newcomers
// here.
void Cache::Impl::ListNewcomer(Item* item) {
  const std::uint8_t class_id = cache->ClassOf(item);
  Newcomers& newcomers = heap->newcomers[class_id];
  newcomers.Add(item);
  const std::size_t count_max = 2 * NewcomerShare(class_id);
  for (int taken = 0; taken < 2 && newcomers.count() > count_max; ++taken) {
    Item* oldest = NewcomerAt(newcomers.Take(), class_id);
    if (oldest != nullptr) ItemAccess::MarkResident(oldest);
  }
}

std::size_t Cache::Impl::NewcomerShare(std::uint8_t class_id) const {
  return heap->slabs.SlotCount(class_id) * kNewcomerShare / 100 + 1;
}

// The item that an entry of Newcomers stands for, if it still does.
Item* Cache::Impl::NewcomerAt(void* slot, std::uint8_t class_id) const {
  const std::uint32_t number = shared->pages->NumberOf(slot);
  const Page& page = shared->pages->At(number);
  if (page.owner.load(std::memory_order_relaxed) != thread ||
      page.class_id.load(std::memory_order_relaxed) != class_id || page.is_draining) {
    return nullptr;
  }
  const auto offset_bytes =
      static_cast<std::size_t>(static_cast<char*>(slot) - shared->pages->Start(number));
  const std::size_t slot_bytes = shared->sizes.SlotBytes(class_id);
  const bool is_slot =
      offset_bytes % slot_bytes == 0 && offset_bytes / slot_bytes < page.carved_count;
  auto* item = static_cast<Item*>(slot);
  if (!is_slot || ItemAccess::KindOf(item) != SlotKind::kLinked) return nullptr;
  return ItemAccess::IsNewcomer(item) ? item : nullptr;
}

// Whether it has gone.
bool Cache::Impl::JudgeNewcomer(std::uint8_t class_id) {
  Item* item = NewcomerAt(heap->newcomers[class_id].Take(), class_id);
  if (item == nullptr) return false;
  if (IsDead(item) && !ItemAccess::IsPinned(item)) return Reclaim(item);
  if (ItemAccess::Frequency(item) == 0 && !ItemAccess::IsPinned(item)) return Evict(item);
  ItemAccess::SetFrequency(item, 0);
  ItemAccess::MarkResident(item);
  return false;
}

// The slot under the hand. Whether it is free, or soon will be. *least_used is the least used
// resident met so far.
bool Cache::Impl::JudgeResident(void* slot, Urgency urgency, Item** least_used) {
  Item* item = ItemAccess::LinkedItemAt(slot);
  if (item == nullptr) return urgency == Urgency::kAhead && IsRetired(slot);
  if (ItemAccess::IsPinned(item)) return false;
  if (IsDead(item)) return Reclaim(item);
  if (urgency == Urgency::kOnlyDead || ItemAccess::IsNewcomer(item)) return false;
  const std::uint8_t frequency = ItemAccess::Frequency(item);
  if (frequency == 0) return Evict(item);
  ItemAccess::SetFrequency(item, static_cast<std::uint8_t>(frequency - 1));
  if (*least_used == nullptr || frequency <= ItemAccess::Frequency(*least_used)) *least_used = item;
  return false;
}

// If nobody at zero is met within the bound, the least used resident goes, or the oldest newcomers
// whether they have their share or not.
std::size_t Cache::Impl::EvictSome(std::uint8_t class_id, std::size_t count_wanted,
                                   Urgency urgency) {
  Newcomers& newcomers = heap->newcomers[class_id];
  const std::size_t share = NewcomerShare(class_id);
  const std::size_t slots_max =
      std::min(kPassedSlotsMax * count_wanted, 4 * heap->slabs.SlotCount(class_id));
  std::size_t evicted_count = 0;
  Item* least_used = nullptr;
  for (std::size_t passed = 0; passed < slots_max && evicted_count < count_wanted; ++passed) {
    if (newcomers.count() >= share && urgency != Urgency::kOnlyDead) {
      if (JudgeNewcomer(class_id)) ++evicted_count;
      continue;
    }
    void* slot = heap->slabs.NextSlot(class_id);
    if (slot == nullptr) break;
    if (JudgeResident(slot, urgency, &least_used)) ++evicted_count;
  }
  if (evicted_count > 0 || urgency == Urgency::kOnlyDead) return evicted_count;
  if (least_used != nullptr) return Evict(least_used) ? 1 : 0;
  while (evicted_count < count_wanted && newcomers.count() > 0) {
    if (JudgeNewcomer(class_id)) ++evicted_count;
  }
  return evicted_count;
}

}  // namespace cache
