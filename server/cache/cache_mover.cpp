// The page mover: pages go to where memory is used faster.
//
// The signal is the rate at which a class of a thread fills pages, for each page it has: where all
// rates are equal, items live equally long, as in one pool. Once a second each thread compares its
// classes with the whole cache; one that has clearly more pages than its part gives some to the
// pool, a few slots a turn. Items read more lately than the cache turns over are copied to other
// pages of their class, the others are evicted.
#include <algorithm>
#include <cmath>

#include "server/cache/cache_impl.h"
#include "server/cache/item_access.h"

namespace cache {
namespace {

constexpr std::uint32_t kSlotsASlice = 64;
// Slices that a slot waits for room in its class before its item is evicted.
constexpr unsigned kWaitsMax = 8;
// Slices after which a page that is emptied is no longer asked for at each turn.
constexpr unsigned kDrainWaitsMax = 64;
constexpr std::size_t kPagesCompared = 8;
constexpr std::uint32_t kSlotsSampled = 64;
constexpr std::size_t kEvictBatch = 8;
// A class gives when it has so many times its part of the pages.
constexpr float kSurplusFactor = 1.25F;
constexpr float kEagerFactor = 1.05F;
// A quarter of the surplus goes each second: most of it within ten.
constexpr float kSurplusDivisor = 4.0F;
constexpr std::uint32_t kDrainingMax = 4;

}  // namespace

bool Cache::Impl::Move() {
  if (now.steady_s != mover.measured_s) MeasureRates();
  const bool gives_up = GiveUpExcess();
  if (!mover.is_moving) {
    AnswerReassign();
    if (!mover.is_moving && mover.surplus_count > 0) {
      --mover.surplus_count;
      if (!StartMove(mover.surplus_class, 0, false)) mover.surplus_count = 0;
    }
    if (!mover.is_moving) return gives_up;
  }
  const Page& page = shared->pages->At(mover.page);
  const std::size_t slot_bytes = shared->sizes.SlotBytes(mover.class_id);
  const bool is_mine = page.owner.load(std::memory_order_relaxed) == thread && page.is_draining;
  for (std::uint32_t left = kSlotsASlice; is_mine && left > 0; --left) {
    if (mover.slot >= page.carved_count) break;
    if (!MoveSlot(shared->pages->Start(mover.page) + mover.slot * slot_bytes)) return true;
    ++mover.slot;
    mover.waits = 0;
    if (!page.is_draining) break;
  }
  if (page.is_draining && is_mine && mover.slot < page.carved_count) return true;
  FinishMove();
  return mover.is_moving ? mover.waits < kDrainWaitsMax : true;
}

void Cache::Impl::MeasureRates() {
  const std::size_t class_count = shared->sizes.count();
  mover.taken_counts.resize(class_count + 1);
  mover.page_rates.resize(class_count + 1);
  const auto seconds = static_cast<float>(std::max(now.steady_s - mover.measured_s, 1U));
  mover.measured_s = now.steady_s;
  float thread_rate = 0;
  for (std::size_t at = 1; at <= class_count; ++at) {
    const auto class_id = static_cast<std::uint8_t>(at);
    const std::uint64_t taken = heap->slabs.TakenCount(class_id);
    const auto slots = static_cast<float>(taken - mover.taken_counts[at]);
    const auto slots_a_page = static_cast<float>(shared->sizes.SlotsPerPage(class_id));
    mover.taken_counts[at] = taken;
    mover.page_rates[at] = (mover.page_rates[at] + slots / slots_a_page / seconds) / 2;
    thread_rate += mover.page_rates[at];
    if (!heap->slabs.PagesOf(class_id).empty()) state->classes[at].age_s = SampleAge(class_id);
  }
  state->page_rate = thread_rate;
  state->page_count = heap->slabs.page_count();
  float rate = 0;
  std::uint32_t page_count = 0;
  for (const auto& other : shared->threads) {
    rate += other->page_rate;
    page_count += other->page_count;
  }
  mover.cache_rate = page_count > 0 ? rate / static_cast<float>(page_count) : 0;
  mover.surplus_count = 0;
  const Automove automove = shared->automove.load(std::memory_order_relaxed);
  const bool is_full = shared->options.evicts && shared->pages->free_count() == 0;
  if (automove != Automove::kOff && is_full && mover.cache_rate > 0) ChooseSurplus();
}

// A class nothing is stored in gives its last page, too. Rates below a page a minute say little.
void Cache::Impl::ChooseSurplus() {
  constexpr float kRateMin = 1.0F / 64;
  const bool is_eager = shared->automove.load(std::memory_order_relaxed) == Automove::kEager;
  const float factor = is_eager ? kEagerFactor : kSurplusFactor;
  float surplus_max = 0;
  for (std::size_t at = 1; at < mover.page_rates.size(); ++at) {
    const auto class_id = static_cast<std::uint8_t>(at);
    const auto page_count = static_cast<float>(heap->slabs.PagesOf(class_id).size());
    const float rate = mover.page_rates[at];
    const float part = rate / mover.cache_rate;
    const float least = rate > kRateMin ? 1.0F : 0.0F;
    if (page_count <= factor * part + least || page_count - part <= surplus_max) continue;
    surplus_max = page_count - part;
    mover.surplus_class = class_id;
  }
  if (surplus_max == 0) return;
  mover.surplus_count = std::max(1U, static_cast<std::uint32_t>(surplus_max / kSurplusDivisor));
}

void Cache::Impl::AnswerReassign() {
  std::uint32_t asked = shared->reassign.load(std::memory_order_relaxed);
  if (asked == 0) return;
  const auto from = static_cast<std::uint8_t>(asked >> 8U);
  if (heap->slabs.PagesOf(from).empty()) return;
  shared->moves_running.fetch_add(1, std::memory_order_relaxed);
  if (shared->reassign.compare_exchange_strong(asked, 0, std::memory_order_relaxed)) {
    StartMove(from, static_cast<std::uint8_t>(asked), true);
  }
  shared->moves_running.fetch_sub(1, std::memory_order_relaxed);
}

// Of a few pages, the one with the fewest items worth keeping. One that is full of them stays
// where it is, unless it was asked for: its class is used, only not stored in.
bool Cache::Impl::StartMove(std::uint8_t class_id, std::uint8_t to_class, bool is_asked) {
  const auto& pages = heap->slabs.PagesOf(class_id);
  std::uint32_t best = PageSpace::kNone;
  std::size_t fewest = is_asked ? SIZE_MAX : kSlotsSampled * 3 / 4;
  ++page_turn;
  for (std::size_t at = 0; at < std::min(pages.size(), kPagesCompared); ++at) {
    const std::uint32_t number = pages[(page_turn + at) % pages.size()];
    const std::size_t keepers = KeeperCount(number);
    if (keepers >= fewest || !CanEmpty(number)) continue;
    fewest = keepers;
    best = number;
  }
  if (best == PageSpace::kNone) return false;
  mover.is_moving = true;
  mover.class_id = class_id;
  mover.page = best;
  mover.slot = 0;
  mover.waits = 0;
  shared->moves_running.fetch_add(1, std::memory_order_relaxed);
  heap->slabs.Drain(best, to_class);
  return true;
}

// Calls visit(Item*) for the items in a few of the page's slots; returns how many slots.
template <typename Visit>
std::size_t Cache::Impl::ForEachSampled(std::uint32_t number, Visit visit) const {
  const Page& page = shared->pages->At(number);
  const std::uint32_t carved_count = page.carved_count;
  const std::size_t slot_bytes =
      shared->sizes.SlotBytes(page.class_id.load(std::memory_order_relaxed));
  const std::uint32_t sample_count = std::min(carved_count, kSlotsSampled);
  for (std::uint32_t at = 0; at < sample_count; ++at) {
    const std::size_t slot = std::size_t{at} * carved_count / sample_count;
    Item* item = ItemAccess::LinkedItemAt(shared->pages->Start(number) + slot * slot_bytes);
    if (item != nullptr) visit(item);
  }
  return sample_count;
}

// Of kSlotsSampled slots of the page.
std::size_t Cache::Impl::KeeperCount(std::uint32_t number) const {
  std::size_t keeper_count = 0;
  const std::size_t sample_count = ForEachSampled(number, [this, &keeper_count](const Item* item) {
    if (IsWorthKeeping(item)) ++keeper_count;
  });
  return sample_count == 0 ? 0 : keeper_count * kSlotsSampled / sample_count;
}

bool Cache::Impl::IsWorthKeeping(const Item* item) const {
  if (IsDead(item)) return false;
  const std::uint32_t idle_s = now.steady_s - std::min(now.steady_s, item->last_access_s());
  return static_cast<float>(idle_s) * mover.cache_rate < 1;
}

// False when the item has to wait for room. Chains are not moved.
bool Cache::Impl::MoveSlot(void* slot) {
  Item* item = ItemAccess::LinkedItemAt(slot);
  if (item == nullptr) return true;
  if (item->Has(Item::kChained) || !IsWorthKeeping(item)) {
    Evict(item);
    return true;
  }
  if (void* room = TakeIncludingPool(mover.class_id)) {
    if (!MoveItem(item, room)) heap->FreeSlot(room);
    return true;
  }
  if (++mover.waits > kWaitsMax) {
    Evict(item);
    return true;
  }
  EvictSome(mover.class_id, kEvictBatch,
            shared->options.evicts ? Urgency::kNow : Urgency::kOnlyDead);
  heap->limbo.Close(&shared->epochs);
  return false;
}

// The old one is marked first, under the writer bit: what others change in it after that they
// change again in the copy, which they find by Follow.
bool Cache::Impl::MoveItem(Item* item, void* slot) {
  const std::uint64_t hash = shared->index->Hash(item->key());
  for (;;) {
    const std::uint32_t generation = shared->flush.generation();
    Place place = shared->index->Look(hash, item->key());
    if (place.item != item || IsDead(item)) return false;
    if (!shared->index->Lock(&place)) continue;
    ItemAccess::MarkUnlinked(item);
    Item* copy = ItemAccess::Copy(item, slot);
    ItemAccess::MarkResident(copy);  // It is in no list of newcomers.
    shared->index->Replace(place, copy);
    shared->index->Unlock(place);
    NoteForSweep(copy, generation);
    heap->Retire(item, &shared->epochs);
    block->classes[mover.class_id].slab_reassign_rescues.Add();
    return true;
  }
}

Item* Cache::Impl::Follow(Item* item) {
  const Place place = shared->index->Look(shared->index->Hash(item->key()), item->key());
  const bool is_copy = place.item != nullptr && place.item->cas() == item->cas();
  return is_copy ? place.item : nullptr;
}

// All items have left; the slots come back when other threads have passed.
void Cache::Impl::FinishMove() {
  const Page& page = shared->pages->At(mover.page);
  const bool is_mine = page.owner.load(std::memory_order_relaxed) == thread && page.is_draining;
  if (is_mine) {
    ++mover.waits;
    heap->limbo.Close(&shared->epochs);
    heap->PostAll();
    return;
  }
  block->classes[mover.class_id].slabs_moved.Add();
  mover.is_moving = false;
  shared->moves_running.fetch_sub(1, std::memory_order_relaxed);
}

// Beyond the memory limit, which has been lowered: those give that have their share of the pages.
bool Cache::Impl::GiveUpExcess() {
  if (!shared->options.evicts || shared->pages->excess_count() == 0) return false;
  const std::uint64_t held_count = shared->pages->held_count();
  bool gives = heap->slabs.draining_count() > 0;
  if (std::uint64_t{heap->slabs.page_count()} * shared->options.thread_count >= held_count &&
      heap->slabs.draining_count() < std::min(kDrainingMax, shared->pages->excess_count())) {
    gives = EmptySomePage(heap, 0) || gives;
  }
  heap->limbo.Close(&shared->epochs);
  heap->PostAll();
  return gives;
}

// The longest idle of some items of the class's first page.
std::uint32_t Cache::Impl::SampleAge(std::uint8_t class_id) const {
  std::uint32_t age_s = 0;
  ForEachSampled(heap->slabs.PagesOf(class_id).front(), [this, &age_s](const Item* item) {
    age_s = std::max(age_s, now.steady_s - std::min(now.steady_s, item->last_access_s()));
  });
  return age_s;
}

}  // namespace cache
