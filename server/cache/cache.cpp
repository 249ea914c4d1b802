#include "server/cache/cache.h"

#include <algorithm>

#include "coro/ensure.h"
#include "server/cache/cache_impl.h"
#include "server/cache/item_access.h"

namespace cache {

Cache::Cache(SharedCache* shared, std::uint32_t thread_index, stats::Block* block)
    : shared_(shared) {
  ENSURE(thread_index < shared->impl_->options.thread_count);
  impl_ = std::make_unique<Impl>(this, shared->impl_.get(), thread_index, block);
  ENSURE(!impl_->state->has_cache.exchange(true));
}

Cache::~Cache() {
  if (impl_->is_online) impl_->GoOffline();
  impl_->state->has_cache.store(false);
}

// -- Turns.

void Cache::Impl::GoOnline(Now turn) {
  ENSURE(!is_online);
  shared->epochs.Enter(thread);
  is_online = true;
  now = turn;
  if (shared->flush.IsDue(now)) StartGeneration(true);
}

void Cache::Impl::Quiesce() {
  shared->epochs.Quiesce(thread);
  if (heap->limbo.has_closed() || heap->limbo.has_pinned()) CollectOwn();
}

void Cache::Impl::GoOffline() {
  ENSURE(is_online);
  is_online = false;
  shared->epochs.Leave(thread);
}

// What has gathered without filling a batch goes on its way once a second.
bool Cache::Impl::Maintain() {
  constexpr std::uint32_t kTurnBatch = 16;  // Retired items worth a stamp.
  const bool is_resizing = ResizeIndex();
  heap->EmptyInbox();
  if (heap->limbo.waiting_count() >= std::min(kTurnBatch, reserve_slots)) {
    heap->limbo.Close(&shared->epochs);
  }
  if (now.steady_s != housekept_s) {
    housekept_s = now.steady_s;
    ShrinkReserve();
    heap->limbo.Close(&shared->epochs);
    heap->PostAll();
  }
  if (heap->limbo.has_closed()) CollectOwn();
  GiveUpWhatIsWanted();
  const bool is_moving = Move();
  const bool is_sweeping = Sweep();
  const bool is_populating = shared->pages->PopulateAhead();
  return is_resizing || is_moving || is_sweeping || is_populating;
}

// Who takes the last pair away stamps that, to return the memory when it is past.
bool Cache::Impl::ResizeIndex() {
  constexpr int kSteps = 8;
  Index* index = shared->index.get();
  for (int step = 0; step < kSteps && index->NeedsGrowth(); ++step) {
    if (!index->GrowOne(&state->index_local)) break;
  }
  bool has_shrunk = false;
  for (int step = 0; step < kSteps && index->NeedsShrink(); ++step) {
    if (!index->ShrinkOne(&state->index_local)) break;
    has_shrunk = true;
  }
  if (has_shrunk && !index->NeedsShrink()) {
    shrink_count = index->shrink_count();
    shrink_stamp = shared->epochs.Advance();
  }
  if (shrink_stamp != 0 && shared->epochs.SafeEpoch() >= shrink_stamp) {
    index->ReturnMemory(shrink_count);
    shrink_stamp = 0;
  }
  return index->NeedsGrowth() || index->NeedsShrink();
}

void Cache::GoOnline(Now now) { impl_->GoOnline(now); }
void Cache::Quiesce() { impl_->Quiesce(); }
void Cache::GoOffline() { impl_->GoOffline(); }
Now Cache::now() const { return impl_->now; }
bool Cache::Maintain() { return impl_->Maintain(); }

// -- Keys.

HashedKey Cache::Hash(std::string_view text) const {
  return {.text = text, .hash = impl_->shared->index->Hash(text)};
}
void Cache::PrefetchBucket(const HashedKey& key) const {
  impl_->shared->index->PrefetchHome(key.hash);
}
void Cache::PrefetchItem(const HashedKey& key) const {
  impl_->shared->index->PrefetchItem(key.hash);
}

// -- Reading.

Item* Cache::Find(const HashedKey& key) {
  Item* item = impl_->shared->index->Find(key.hash, key.text);
  if (item == nullptr) {
    impl_->last_miss = Miss::kAbsent;
    return nullptr;
  }
  if (!impl_->IsDead(item)) return item;
  impl_->last_miss = impl_->shared->flush.Covers(item) ? Miss::kFlushed : Miss::kExpired;
  impl_->RemoveFromIndex(item);
  return nullptr;
}

std::uint64_t Cache::CollectStep(std::uint64_t cursor, std::vector<Item*>* items) const {
  const std::size_t before = items->size();
  cursor = impl_->shared->index->CollectStep(cursor, items);
  const auto is_dead = [this](const Item* item) { return impl_->IsDead(item); };
  items->erase(
      std::remove_if(items->begin() + static_cast<std::ptrdiff_t>(before), items->end(), is_dead),
      items->end());
  return cursor;
}

Miss Cache::last_miss() const { return impl_->last_miss; }

void Cache::MarkAccess(Item* item) {
  if (!item->Has(Item::kFetched)) ItemAccess::AddState(item, Item::kFetched);
  const std::uint32_t now_s = impl_->now.steady_s;
  if (item->last_access_s() != now_s) ItemAccess::SetLastAccess(item, now_s);
  const std::uint8_t frequency = ItemAccess::Frequency(item);
  if (frequency < ItemAccess::kFrequencyMax) {
    ItemAccess::SetFrequency(item, static_cast<std::uint8_t>(frequency + 1));
  }
}

// The expiry first: see Page::LowerDue. An item that is being moved has been marked unlinked before
// its fields are copied: who sees it linked after the change knows that the copy has it too.
void Cache::Touch(Item* item, Expiry expiry) {
  while (item != nullptr) {
    ItemAccess::SetExpiry(item, expiry);
    impl_->shared->pages->Of(item).LowerDue(expiry);
    const std::uint8_t state = ItemAccess::PutState(item, 0);
    if (ItemAccess::IsLinkedState(state)) return;
    Item* moved = impl_->Follow(item);
    if (moved == item) return;
    item = moved;
  }
}

std::uint8_t Cache::ClassOf(const Item* item) const {
  return impl_->shared->pages->Of(item).class_id.load(std::memory_order_relaxed);
}

std::size_t Cache::TotalBytes(const Item* item) const { return ItemAccess::TotalBytes(item); }

bool Cache::Pin(Item* item) { return ItemAccess::AddPin(item); }
void Cache::Unpin(Item* item) { ItemAccess::TakePin(item); }

// -- Writing.

Room Cache::Begin(const HashedKey& key, std::uint32_t client_flags, Expiry expiry,
                  std::size_t value_bytes, Draft* draft) {
  if (sizeof(Item) + key.text.size() + value_bytes > impl_->shared->options.item_bytes_max) {
    return Room::kTooLarge;
  }
  const ItemPlan plan = impl_->PlanFor(key.text, client_flags, expiry, value_bytes);
  return impl_->Begin(plan, key.hash, draft);
}

Stored Cache::Store(Draft* draft, const StoreRule& rule) { return impl_->Store(draft, rule); }
Delta Cache::Add(const HashedKey& key, const DeltaRule& rule) { return impl_->Add(key, rule); }

Deleted Cache::Delete(const HashedKey& key, std::uint64_t compare_cas) {
  Index* index = impl_->shared->index.get();
  for (;;) {
    Impl::Place place = index->Look(key.hash, key.text);
    if (place.item == nullptr || impl_->IsDead(place.item)) return {};
    const std::uint8_t class_id = ClassOf(place.item);
    if (compare_cas != 0 && place.item->cas() != compare_cas) {
      return {.result = DeleteResult::kExists, .class_id = class_id};
    }
    if (!index->Lock(&place)) continue;
    Item* item = place.item;
    index->Remove(&place, &impl_->state->index_local);
    index->Unlock(place);
    impl_->Discard(item);
    return {.result = DeleteResult::kDeleted, .class_id = class_id};
  }
}

void Cache::FlushAll(std::uint32_t delay_s) {
  if (delay_s == 0) {
    impl_->StartGeneration(false);
  } else {
    const std::uint32_t now_s = impl_->now.steady_s;
    impl_->shared->flush.Schedule(now_s + std::min(delay_s, UINT32_MAX - now_s));
  }
}

// -- Marks of the meta protocol.

bool Cache::WinToken(Item* item) {
  for (;;) {
    const std::uint8_t state = ItemAccess::PutState(item, Item::kTokenSent);
    Item* moved = ItemAccess::IsLinkedState(state) ? item : impl_->Follow(item);
    if (moved == item || moved == nullptr) return (state & Item::kTokenSent) == 0;
    item = moved;
  }
}

// Under the writer bit, so that no store compares the CAS while it changes.
bool Cache::MarkStale(Item* item, std::uint64_t compare_cas, std::uint64_t explicit_cas) {
  Index* index = impl_->shared->index.get();
  const HashedKey key = Hash(item->key());
  for (;;) {
    Impl::Place place = index->Look(key.hash, key.text);
    if (place.item != nullptr && place.item->cas() == item->cas()) item = place.item;  // Moved.
    const bool matches = compare_cas == 0 || item->cas() == compare_cas;
    if (place.item != item || !matches) return matches;
    if (!index->Lock(&place)) continue;
    ItemAccess::SetCas(item, impl_->CasFor(item, explicit_cas));
    ItemAccess::AddState(item, Item::kStale);
    ItemAccess::TakeState(item, Item::kTokenSent);
    index->Unlock(place);
    return true;
  }
}

}  // namespace cache
