#include "server/execute.h"

#include <algorithm>
#include <cstring>

#include "coro/ensure.h"
#include "server/protocol/number.h"
#include "server/protocol/tokens.h"
#include "server/protocol/words.h"
#include "server/version.h"

namespace server {
namespace {

using protocol::Command;
using protocol::Verb;
namespace words = protocol::words;

constexpr std::int32_t kVerbosityMax = 3;
constexpr std::string_view kValueHead = "VALUE ";
// "VALUE key flags bytes cas\r\n" is never longer.
constexpr std::size_t kValueLineBytesMax =
    kValueHead.size() + protocol::kKeyBytesMax + 3 * (1 + protocol::kDigitsMax) + 2;

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

std::string_view AnswerOf(Verb verb, cache::StoreResult result) {
  const bool joins = verb == Verb::kAppend || verb == Verb::kPrepend;
  switch (result) {
    case cache::StoreResult::kStored:
      return words::kStored;
    case cache::StoreResult::kNotStored:
      return words::kNotStored;
    case cache::StoreResult::kExists:
      return words::kExists;
    case cache::StoreResult::kNotFound:
      return words::kNotFound;
    case cache::StoreResult::kTooLarge:  // Of a joined value; memcached does not say why.
      return joins ? words::kNotStored : words::kTooLarge;
    case cache::StoreResult::kNoMemory:
      return joins ? words::kNotStored : words::kNoMemoryStoring;
  }
  return words::kError;
}

char* Write(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
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
    case Verb::kFlushAll:
      FlushAll(command);
      return Action::kGoOn;
    case Verb::kVerbosity:
      SetVerbosity(command);
      return Action::kGoOn;
    case Verb::kVersion:
      reply_->Append(kVersionAnswer);
      return Action::kGoOn;
    case Verb::kMetaNoop:
      reply_->Append(words::kMetaNoop);
      return Action::kGoOn;
    case Verb::kError:
      if (command.ends_list) reply_->RollBack();
      Answer(command, command.error);
      return Action::kGoOn;
    case Verb::kStats:
      return Action::kStats;
    case Verb::kAdmin:
      return Admin(command);
    case Verb::kQuit:
    case Verb::kClose:
      return Action::kClose;
  }
  return Action::kGoOn;
}

void Executor::Answer(const Command& command, std::string_view text) {
  if (!command.noreply) reply_->Append(text);
}

// -- Reading.

void Executor::Get(const Command& command, const cache::HashedKey& key) {
  if (command.is_first_key) reply_->Mark();  // Where to go back to, should the list turn out bad.
  if (cache::Item* item = Fetch(command, key)) AppendItem(item, command.wants_cas);
  if (command.is_last_key) reply_->Append(words::kEnd);
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
    item->set_expiry(clock_->ExpiryOf(command.exptime, cache_->now()));
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

void Executor::AppendItem(cache::Item* item, bool wants_cas) {
  char* to = Write(reply_->Reserve(kValueLineBytesMax), kValueHead);
  to = Write(to, item->key());
  *to++ = ' ';
  to = protocol::WriteNumber(to, item->client_flags());
  *to++ = ' ';
  to = protocol::WriteNumber(to, item->value_bytes());
  if (wants_cas) {
    *to++ = ' ';
    to = protocol::WriteNumber(to, item->cas());
  }
  reply_->Commit(Write(to, words::kCrlf));
  reply_->AppendValue(item);
  reply_->Append(words::kCrlf);
}

// -- Storing.

void Executor::Store(const Command& command, const cache::HashedKey& key) {
  if (!command.value_is_ended) return Answer(command, words::kBadDataChunk);
  cache::Draft draft;
  if (!BeginStore(command, key, &draft)) return;
  if (!draft.Append(command.value)) return FailStore(command, key);
  FinishStore(command, &draft, true);
}

bool Executor::BeginStore(const Command& command, const cache::HashedKey& key,
                          cache::Draft* draft) {
  const cache::Expiry expiry = clock_->ExpiryOf(command.exptime, cache_->now());
  const cache::Room room =
      cache_->Begin(key, command.client_flags, expiry, command.value_bytes, draft);
  switch (room) {
    case cache::Room::kOk:
      block_->classes[draft->class_id()].cmd_set.Add();
      return true;
    case cache::Room::kTooLarge:
      block_->store_too_large.Add();
      Answer(command, words::kTooLarge);
      break;
    case cache::Room::kNoMemory:
      block_->store_no_memory.Add();
      Answer(command, words::kNoMemoryStoring);
      break;
  }
  // A reader must not get the old value after its writer has failed.
  if (command.verb == Verb::kSet) cache_->Delete(key, 0);
  return false;
}

void Executor::FinishStore(const Command& command, cache::Draft* draft, bool is_ended) {
  if (!is_ended) {
    *draft = cache::Draft();
    return Answer(command, words::kBadDataChunk);
  }
  const bool is_cas = command.verb == Verb::kCas;
  const cache::Stored stored =
      cache_->Store(draft, {.mode = ModeOf(command.verb), .compare_cas = command.number});
  CountStored(stored, is_cas);
  Answer(command, AnswerOf(command.verb, stored.result));
}

void Executor::FailStore(const Command& command, const cache::HashedKey& key) {
  block_->store_no_memory.Add();
  if (command.verb == Verb::kSet) cache_->Delete(key, 0);
  Answer(command, words::kNoMemoryStoring);
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
    return Answer(command, words::kNotFound);
  }
  item->set_expiry(clock_->ExpiryOf(command.exptime, cache_->now()));
  cache_->MarkAccess(item);
  block_->classes[cache_->ClassOf(item)].touch_hits.Add();
  Answer(command, words::kTouched);
}

void Executor::Delete(const Command& command, const cache::HashedKey& key) {
  const cache::Deleted deleted = cache_->Delete(key, 0);
  if (deleted.result != cache::DeleteResult::kDeleted) {
    block_->delete_misses.Add();
    return Answer(command, words::kNotFound);
  }
  block_->classes[deleted.class_id].delete_hits.Add();
  Answer(command, words::kDeleted);
}

void Executor::AddDelta(const Command& command, const cache::HashedKey& key) {
  const bool decrements = command.verb == Verb::kDecr;
  const cache::Delta delta = cache_->Add(key, {.delta = command.number, .decrements = decrements});
  switch (delta.result) {
    case cache::DeltaResult::kOk: {
      stats::ClassBlock& counts = block_->classes[delta.class_id];
      (decrements ? counts.decr_hits : counts.incr_hits).Add();
      if (command.noreply) return;
      char* to = reply_->Reserve(protocol::kDigitsMax + words::kCrlf.size());
      return reply_->Commit(Write(protocol::WriteNumber(to, delta.value), words::kCrlf));
    }
    case cache::DeltaResult::kNotFound:
      (decrements ? block_->decr_misses : block_->incr_misses).Add();
      return Answer(command, words::kNotFound);
    case cache::DeltaResult::kNonNumeric:
      return Answer(command, words::kNonNumeric);
    case cache::DeltaResult::kExists:
      return Answer(command, words::kExists);
    case cache::DeltaResult::kNoMemory:
      return Answer(command, words::kNoMemory);
  }
}

// -- Administration.

void Executor::FlushAll(const Command& command) {
  block_->cmd_flush.Add();
  if (!settings_->allows_flush) return Answer(command, words::kFlushNotAllowed);
  std::int64_t delay_s = 0;
  if (command.exptime > 0) {
    const cache::Expiry expiry = clock_->ExpiryOf(command.exptime, cache_->now());
    delay_s = std::max<std::int64_t>(expiry.RemainingSeconds(cache_->now()), 0);
  }
  cache_->FlushAll(static_cast<std::uint32_t>(delay_s));
  Answer(command, words::kOk);
}

void Executor::SetVerbosity(const Command& command) {
  const auto level = std::min<std::uint64_t>(command.number, kVerbosityMax);
  settings_->verbosity.store(static_cast<std::int32_t>(level), std::memory_order_relaxed);
  Answer(command, words::kOk);
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
  reply_->Append(words::kError);
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
  cache_->GoOnline(clock_->Read());
  reply_->Append(words::kOk);
}

}  // namespace server
