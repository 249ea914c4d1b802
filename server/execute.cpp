#include "server/execute.h"

#include <algorithm>

#include "server/admin.h"
#include "server/class_list.h"
#include "server/protocol/number.h"
#include "server/protocol/tokens.h"
#include "server/protocol/words.h"

namespace server {
namespace {

using protocol::Command;
using protocol::Verb;
namespace words = protocol::words;

constexpr std::int32_t kVerbosityMax = 3;
cache::StoreMode ModeOf(Verb verb) {
  switch (verb) {
    case Verb::kAdd:
      return cache::StoreMode::kAdd;
    case Verb::kReplace:
      return cache::StoreMode::kReplace;
    case Verb::kAppend:
      return cache::StoreMode::kAppend;
    case Verb::kPrepend:
      return cache::StoreMode::kPrepend;
    case Verb::kCas:
      return cache::StoreMode::kCas;
    default:
      return cache::StoreMode::kSet;
  }
}

// A join that would be too large is told as one that met nothing: memcached does not say why
// either.
Outcome OutcomeOf(Verb verb, cache::StoreResult result) {
  const bool joins = verb == Verb::kAppend || verb == Verb::kPrepend;
  switch (result) {
    case cache::StoreResult::kStored:
      return Outcome::kStored;
    case cache::StoreResult::kNotStored:
      return Outcome::kNotStored;
    case cache::StoreResult::kExists:
      return Outcome::kExists;
    case cache::StoreResult::kNotFound:
      return Outcome::kNotFound;
    case cache::StoreResult::kTooLarge:
      return joins ? Outcome::kNotStored : Outcome::kTooLarge;
    case cache::StoreResult::kNoMemory:
      return joins ? Outcome::kNotStored : Outcome::kNoMemoryStoring;
  }
  return Outcome::kNotStored;
}

}  // namespace

Action Executor::Execute(const Command& command, const cache::HashedKey& key) {
  switch (command.verb) {
    case Verb::kGet:
    case Verb::kGat:
      Get(command, key);
      return Action::kGoOn;
    case Verb::kGetEnd:
      reply_->Append(words::kEnd);
      return Action::kGoOn;
    case Verb::kSet:
    case Verb::kAdd:
    case Verb::kReplace:
    case Verb::kAppend:
    case Verb::kPrepend:
    case Verb::kCas:
      Store(command, key);
      return Action::kGoOn;
    case Verb::kTouch:
      Touch(command, key);
      return Action::kGoOn;
    case Verb::kDelete:
      Delete(command, key);
      return Action::kGoOn;
    case Verb::kIncr:
    case Verb::kDecr:
      AddDelta(command, key);
      return Action::kGoOn;
    case Verb::kMetaGet:
      MetaGet(command, key);
      return Action::kGoOn;
    case Verb::kMetaDelete:
      MetaDelete(command, key);
      return Action::kGoOn;
    case Verb::kMetaDebug:
      MetaDebug(command, key);
      return Action::kGoOn;
    case Verb::kFlushAll:
      FlushAll(command);
      return Action::kGoOn;
    case Verb::kVerbosity:
      SetVerbosity(command);
      return Action::kGoOn;
    case Verb::kVersion:
      answers_.Version(command);
      return Action::kGoOn;
    case Verb::kNoop:
      answers_.Noop(command);
      return Action::kGoOn;
    case Verb::kError:
      if (command.ends_list) reply_->RollBack();
      answers_.Refuse(command);
      return command.closes ? Action::kClose : Action::kGoOn;
    case Verb::kSaslList:
      answers_.SaslList(command, {});
      return Action::kGoOn;
    case Verb::kSaslAuth:
      answers_.Tell(command, Outcome::kUnknown);
      return Action::kGoOn;
    case Verb::kStats:
      return Action::kStats;
    case Verb::kAdmin:
      return Admin(command);
    case Verb::kQuit:
      answers_.Quit(command);
      return Action::kClose;
    case Verb::kClose:
      return Action::kClose;
  }
  return Action::kGoOn;
}

// -- Reading.

void Executor::Get(const Command& command, const cache::HashedKey& key) {
  if (command.is_first_key) reply_->Mark();  // Where to go back to, should the list turn out bad.
  cache::Item* item = Fetch(command, key);
  if (CountsPrefixes()) prefixes_->CountGet(command.key, item != nullptr);
  if (item != nullptr) return answers_.Hit(command, item);
  answers_.Miss(command);
}

cache::Item* Executor::Fetch(const Command& command, const cache::HashedKey& key) {
  cache::Item* item = cache_->Find(key);
  const bool touches = command.verb == Verb::kGat;
  if (touches) block_->cmd_touch.Add();
  if (item == nullptr) {
    if (touches) {
      block_->touch_misses.Add();
    } else {
      CountMiss();
    }
    return nullptr;
  }
  cache_->MarkAccess(item);
  stats::ClassBlock& counts = block_->classes[cache_->ClassOf(item)];
  if (touches) {
    cache_->Touch(item, clock_->ExpiryOf(command.exptime, cache_->now()));
    counts.touch_hits.Add();
  } else {
    counts.get_hits.Add();
  }
  return item;
}

void Executor::CountMiss() {
  block_->get_misses.Add();
  if (cache_->last_miss() == cache::Miss::kExpired) block_->get_expired.Add();
  if (cache_->last_miss() == cache::Miss::kFlushed) block_->get_flushed.Add();
}

// -- Storing.

void Executor::Store(const Command& command, const cache::HashedKey& key) {
  if (!command.value_is_ended) return answers_.Tell(command, Outcome::kBadDataChunk);
  cache::Draft draft;
  if (!BeginStore(command, key, &draft)) return;
  if (!draft.Append(command.value)) return FailStore(command, key);
  FinishStore(command, &draft, true);
}

bool Executor::BeginStore(const Command& command, const cache::HashedKey& key,
                          cache::Draft* draft) {
  if (CountsPrefixes()) prefixes_->CountSet(command.key);
  const cache::Expiry expiry = clock_->ExpiryOf(command.exptime, cache_->now());
  const cache::Room room =
      cache_->Begin(key, command.client_flags, expiry, command.value_bytes, draft);
  switch (room) {
    case cache::Room::kOk:
      block_->classes[draft->class_id()].cmd_set.Add();
      if (command.key_is_binary) draft->MarkKeyBinary();
      return true;
    case cache::Room::kTooLarge:
      block_->store_too_large.Add();
      answers_.Tell(command, Outcome::kTooLarge);
      break;
    case cache::Room::kNoMemory:
      block_->store_no_memory.Add();
      answers_.Tell(command, Outcome::kNoMemoryStoring);
      break;
  }
  DropOld(command, key);
  return false;
}

void Executor::FinishStore(const Command& command, cache::Draft* draft, bool is_ended) {
  if (!is_ended) {
    *draft = cache::Draft();
    return answers_.Tell(command, Outcome::kBadDataChunk);
  }
  const bool is_cas = command.verb == Verb::kCas;
  const std::uint32_t drafted_bytes = command.value_bytes;
  const cache::Stored stored = cache_->Store(draft, {.mode = ModeOf(command.verb),
                                                     .compare_cas = command.cas,
                                                     .explicit_cas = command.explicit_cas,
                                                     .creates = command.creates,
                                                     .stale_if_older = command.stale_if_older});
  CountStored(stored, is_cas);
  const bool is_stored = stored.result == cache::StoreResult::kStored;
  const std::uint32_t value_bytes = is_stored ? stored.value_bytes : drafted_bytes;
  answers_.Tell(command, OutcomeOf(command.verb, stored.result),
                {.cas = stored.cas, .value_bytes = value_bytes});
}

// A reader must not get the old value after its writer has failed.
void Executor::DropOld(const Command& command, const cache::HashedKey& key) {
  const bool is_set = command.verb == Verb::kSet || command.dialect == protocol::Dialect::kMeta;
  if (is_set) cache_->Delete(key, 0);
}

void Executor::FailStore(const Command& command, const cache::HashedKey& key) {
  block_->store_no_memory.Add();
  DropOld(command, key);
  answers_.Tell(command, Outcome::kNoMemoryStoring);
}

void Executor::CountStored(const cache::Stored& stored, bool is_cas) {
  if (stored.result == cache::StoreResult::kTooLarge) block_->store_too_large.Add();
  if (stored.result == cache::StoreResult::kNoMemory) block_->store_no_memory.Add();
  if (!is_cas) return;
  stats::ClassBlock& counts = block_->classes[stored.class_id];
  if (stored.result == cache::StoreResult::kStored) counts.cas_hits.Add();
  if (stored.result == cache::StoreResult::kExists) counts.cas_badval.Add();
  if (stored.result == cache::StoreResult::kNotFound) block_->cas_misses.Add();
}

// -- The other data commands.

void Executor::Touch(const Command& command, const cache::HashedKey& key) {
  block_->cmd_touch.Add();
  cache::Item* item = cache_->Find(key);
  if (item == nullptr) {
    block_->touch_misses.Add();
    return answers_.Tell(command, Outcome::kNotFound);
  }
  cache_->Touch(item, clock_->ExpiryOf(command.exptime, cache_->now()));
  cache_->MarkAccess(item);
  block_->classes[cache_->ClassOf(item)].touch_hits.Add();
  answers_.Tell(command, Outcome::kTouched);
}

void Executor::Delete(const Command& command, const cache::HashedKey& key) {
  if (CountsPrefixes()) prefixes_->CountDelete(command.key);
  const cache::Deleted deleted = cache_->Delete(key, command.cas);
  if (deleted.result != cache::DeleteResult::kDeleted) {
    block_->delete_misses.Add();
    const bool is_there = deleted.result == cache::DeleteResult::kExists;
    return answers_.Tell(command, is_there ? Outcome::kExists : Outcome::kNotFound);
  }
  block_->classes[deleted.class_id].delete_hits.Add();
  answers_.Tell(command, Outcome::kDeleted);
}

void Executor::AddDelta(const Command& command, const cache::HashedKey& key) {
  const bool decrements = command.verb == Verb::kDecr;
  const cache::Now now = cache_->now();
  const bool creates_by_own_time = !command.sets_exptime || command.create_expiry_is_last;
  const std::int64_t create_exptime =
      creates_by_own_time ? command.create_exptime : command.exptime;
  const cache::Delta delta =
      cache_->Add(key, {.delta = command.number,
                        .decrements = decrements,
                        .compare_cas = command.cas,
                        .explicit_cas = command.explicit_cas,
                        .creates = command.creates,
                        .initial = command.initial,
                        .create_expiry = clock_->ExpiryOf(create_exptime, now),
                        .sets_expiry = command.sets_exptime,
                        .expiry = clock_->ExpiryOf(command.exptime, now)});
  switch (delta.result) {
    case cache::DeltaResult::kOk: {
      stats::ClassBlock& counts = block_->classes[delta.class_id];
      (decrements ? counts.decr_hits : counts.incr_hits).Add();
      return answers_.Number(command, delta);
    }
    case cache::DeltaResult::kNotFound:
      (decrements ? block_->decr_misses : block_->incr_misses).Add();
      return answers_.Tell(command, Outcome::kNotFound);
    case cache::DeltaResult::kNonNumeric:
      return answers_.Tell(command, Outcome::kNonNumeric);
    case cache::DeltaResult::kExists:
      return answers_.Tell(command, Outcome::kExists);
    case cache::DeltaResult::kNoMemory:
      return answers_.Tell(command, Outcome::kNoMemory);
  }
}

// -- Administration.

void Executor::FlushAll(const Command& command) {
  block_->cmd_flush.Add();
  if (!settings_->allows_flush) return answers_.Tell(command, Outcome::kFlushNotAllowed);
  std::int64_t delay_s = 0;
  if (command.exptime > 0) {
    const cache::Expiry expiry = clock_->ExpiryOf(command.exptime, cache_->now());
    delay_s = std::max<std::int64_t>(expiry.RemainingSeconds(cache_->now()), 0);
  }
  cache_->FlushAll(static_cast<std::uint32_t>(delay_s));
  answers_.Tell(command, Outcome::kOk);
}

void Executor::SetVerbosity(const Command& command) {
  const auto level = std::min<std::uint64_t>(command.number, kVerbosityMax);
  settings_->verbosity.store(static_cast<std::int32_t>(level), std::memory_order_relaxed);
  answers_.Tell(command, Outcome::kOk);
}

Action Executor::Admin(const Command& command) {
  const protocol::Tokens tokens = protocol::Split(command.line);
  if (tokens[0] == "shutdown") {
    if (!settings_->allows_shutdown) {
      reply_->Append("SERVER_ERROR: shutdown not enabled\r\n");
      return Action::kGoOn;
    }
    if (tokens.count == 1 || (tokens.count == 2 && tokens[1] == "graceful")) {
      return Action::kShutDown;
    }
    reply_->Append("CLIENT_ERROR invalid shutdown mode\r\n");
    return Action::kGoOn;
  }
  if (tokens[0] == "debugtime" && settings_->has_debug_commands) {
    DebugTime(tokens[1]);
    return Action::kGoOn;
  }
  const bool dumps = tokens[0] == "lru_crawler" && tokens.count == 3 &&
                     (tokens[1] == "metadump" || tokens[1] == "mgdump");
  if (dumps) return BeginDump(tokens);
  reply_->Append(AnswerAdmin(tokens, &cache_->shared(), settings_));
  return Action::kGoOn;
}

// The answer is long and comes in parts: what was asked before must have been answered.
Action Executor::BeginDump(const protocol::Tokens& tokens) {
  const bool is_meta = tokens[1] == "metadump";
  const auto classes = ReadClassList(tokens[2], cache_->shared().class_count());
  if (!settings_->lru.crawls.load(std::memory_order_relaxed)) {
    reply_->Append("CLIENT_ERROR lru crawler disabled\r\n");
  } else if (!settings_->allows_dump) {
    reply_->Append(is_meta ? "ERROR metadump not allowed\r\n" : "ERROR key dump not allowed\r\n");
  } else if (!reply_->is_empty()) {
    reply_->Append("ERROR cannot pipeline other commands before ");
    reply_->Append(tokens[1]);
    reply_->Append(words::kCrlf);
  } else if (!classes) {
    reply_->Append(kBadClass);
  } else {
    dump_request_ = {.kind = is_meta ? DumpRequest::Kind::kMeta : DumpRequest::Kind::kMg,
                     .classes = *classes};
    return Action::kDump;
  }
  return Action::kGoOn;
}

void Executor::DebugTime(std::string_view argument) {
  const auto seconds = protocol::ParseNumber<std::int64_t>(argument);
  if (argument == "p" || argument == "r") {
    clock_->Pause(argument == "p");
  } else if (seconds) {
    clock_->Shift(*seconds);
  } else {
    return reply_->Append(words::kError);
  }
  cache_->GoOffline();
  cache_->GoOnline(clock_->Read());
  reply_->Append(words::kOk);
}

}  // namespace server
