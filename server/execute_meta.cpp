// The Executor's meta commands that no other protocol has.
#include "server/execute.h"

namespace server {

using protocol::Command;

void Executor::MetaGet(const Command& command, const cache::HashedKey& key) {
  cache::Item* item = cache_->Find(key);
  bool is_created = false;
  if (item == nullptr && command.creates) item = Vivify(command, key, &is_created);
  if (item == nullptr) {
    CountMiss();
    return answers_.MetaMiss(command);
  }
  stats::ClassBlock& counts = block_->classes[cache_->ClassOf(item)];
  if (command.sets_exptime) {
    block_->cmd_touch.Add();
    counts.touch_hits.Add();
  } else {
    counts.get_hits.Add();
  }
  const MetaFound found = Recache(command, item, is_created);
  if (command.sets_exptime && !(is_created && command.create_expiry_is_last)) {
    cache_->Touch(item, found.expiry);
  }
  answers_.MetaHit(command, found);
  if (!command.meta.Has('u')) cache_->MarkAccess(item);
}

// Makes the empty item that N asks for on a miss; whoever makes it has won. When another thread was
// faster it is that one's. Null: no memory.
cache::Item* Executor::Vivify(const Command& command, const cache::HashedKey& key,
                              bool* is_created) {
  const cache::Expiry expiry = clock_->ExpiryOf(command.create_exptime, cache_->now());
  cache::Draft draft;
  if (cache_->Begin(key, 0, expiry, 0, &draft) != cache::Room::kOk) return nullptr;
  if (command.key_is_binary) draft.MarkKeyBinary();
  const cache::Stored stored = cache_->Store(
      &draft,
      {.mode = cache::StoreMode::kAdd, .explicit_cas = command.explicit_cas, .sends_token = true});
  *is_created = stored.result == cache::StoreResult::kStored;
  return cache_->Find(key);
}

// What is told of the item, and who may recache it: who made it; the first who sees it stale; the
// first whose R is above its remaining time.
MetaFound Executor::Recache(const Command& command, cache::Item* item, bool is_created) {
  const cache::Now now = cache_->now();
  MetaFound found{.item = item, .old_expiry = item->expiry(), .expiry = item->expiry()};
  if (command.sets_exptime) found.expiry = clock_->ExpiryOf(command.exptime, now);
  found.idle_s = now.steady_s - item->last_access_s();
  found.was_fetched = item->Has(cache::Item::kFetched);
  const bool is_known = command.meta.Has('C') && item->cas() == command.cas;
  found.shows_value = command.meta.Has('v') && !is_known;
  found.token_was_sent = !is_created && item->Has(cache::Item::kTokenSent);
  found.is_stale = item->Has(cache::Item::kStale);
  found.is_created = found.has_won = is_created;
  if (is_created || found.token_was_sent) return found;
  const cache::Expiry expiry = command.recaches_by_new_expiry ? found.expiry : found.old_expiry;
  const bool ends_soon = command.meta.Has('R') && !expiry.is_never() &&
                         expiry.RemainingSeconds(now) < RecacheSeconds(command);
  if (!ends_soon && !found.is_stale) return found;
  found.has_won = cache_->WinToken(item);
  found.token_was_sent = !found.has_won;
  return found;
}

std::int64_t Executor::RecacheSeconds(const Command& command) const {
  const cache::Now now = cache_->now();
  const cache::Expiry limit = clock_->ExpiryOf(command.recache_exptime, now);
  return limit.is_never() ? 0 : limit.RemainingSeconds(now);
}

void Executor::MetaDelete(const Command& command, const cache::HashedKey& key) {
  cache::Item* item = cache_->Find(key);
  Outcome outcome = Outcome::kNotFound;
  std::uint8_t class_id = 0;
  if (item != nullptr) {
    class_id = cache_->ClassOf(item);
    outcome = Outcome::kDeleted;
    if (command.meta.Has('C') && item->cas() != command.cas) outcome = Outcome::kExists;
  }
  const bool empties = command.meta.Has('x');
  const bool marks_stale = command.meta.Has('I');
  if (outcome == Outcome::kDeleted && empties) {
    outcome = Empty(command, key, item);
    if (marks_stale) item = cache_->Find(key);
  }
  if (outcome == Outcome::kDeleted && marks_stale && item != nullptr) {
    MarkStale(command, item);
    return answers_.Tell(command, outcome);
  }
  if (outcome == Outcome::kDeleted && !empties) {
    const auto result = cache_->Delete(key, command.cas).result;
    if (result == cache::DeleteResult::kExists) outcome = Outcome::kExists;
    if (result == cache::DeleteResult::kNotFound) outcome = Outcome::kNotFound;
  }
  if (outcome == Outcome::kDeleted) block_->classes[class_id].delete_hits.Add();
  if (outcome == Outcome::kNotFound || outcome == Outcome::kExists) block_->delete_misses.Add();
  answers_.Tell(command, outcome);
}

void Executor::MarkStale(const Command& command, cache::Item* item) {
  if (command.sets_exptime) cache_->Touch(item, clock_->ExpiryOf(command.exptime, cache_->now()));
  cache_->MarkStale(item, 0, command.explicit_cas);
}

// x: an empty value in the old one's place, with its CAS unless E gives another.
Outcome Executor::Empty(const Command& command, const cache::HashedKey& key, cache::Item* item) {
  const std::uint64_t cas = command.explicit_cas != 0 ? command.explicit_cas : item->cas();
  const cache::Expiry expiry = clock_->ExpiryOf(command.exptime, cache_->now());
  cache::Draft draft;
  if (cache_->Begin(key, command.client_flags, expiry, 0, &draft) != cache::Room::kOk) {
    return Outcome::kNoMemory;
  }
  if (command.key_is_binary) draft.MarkKeyBinary();
  const cache::Stored stored = cache_->Store(
      &draft,
      {.mode = cache::StoreMode::kReplace, .compare_cas = command.cas, .explicit_cas = cas});
  switch (stored.result) {
    case cache::StoreResult::kStored:
      return Outcome::kDeleted;
    case cache::StoreResult::kExists:
      return Outcome::kExists;
    case cache::StoreResult::kNotStored:
    case cache::StoreResult::kNotFound:
      return Outcome::kNotFound;
    case cache::StoreResult::kTooLarge:
    case cache::StoreResult::kNoMemory:
      return Outcome::kNoMemory;
  }
  return Outcome::kNoMemory;
}

void Executor::MetaDebug(const Command& command, const cache::HashedKey& key) {
  block_->cmd_meta.Add();
  const cache::Item* item = cache_->Find(key);
  if (item == nullptr) return answers_.MetaMiss(command);
  answers_.MetaDebug(item);
}

}  // namespace server
