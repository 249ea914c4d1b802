#include "server/answers.h"

#include <cstring>

#include "server/protocol/number.h"
#include "server/protocol/words.h"
#include "server/version.h"

namespace server {
namespace {

using protocol::Command;
using protocol::Dialect;
namespace words = protocol::words;

constexpr std::string_view kValueHead = "VALUE ";
// "VALUE key flags bytes cas\r\n" is never longer.
constexpr std::size_t kValueLineBytesMax =
    kValueHead.size() + protocol::kKeyBytesMax + 3 * (1 + protocol::kDigitsMax) + 2;

char* Write(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

}  // namespace

std::string_view WordsOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return words::kOk;
    case Outcome::kStored:
      return words::kStored;
    case Outcome::kNotStored:
      return words::kNotStored;
    case Outcome::kExists:
      return words::kExists;
    case Outcome::kNotFound:
      return words::kNotFound;
    case Outcome::kDeleted:
      return words::kDeleted;
    case Outcome::kTouched:
      return words::kTouched;
    case Outcome::kTooLarge:
      return words::kTooLarge;
    case Outcome::kNoMemoryStoring:
      return words::kNoMemoryStoring;
    case Outcome::kNoMemory:
      return words::kNoMemory;
    case Outcome::kNonNumeric:
      return words::kNonNumeric;
    case Outcome::kBadDataChunk:
      return words::kBadDataChunk;
    case Outcome::kFlushNotAllowed:
      return words::kFlushNotAllowed;
    case Outcome::kUnknown:
      break;
  }
  return words::kError;
}

void Answers::Hit(const Command& command, cache::Item* item) {
  if (command.dialect == Dialect::kBinary) return BinaryHit(command, item);
  ClassicHit(item, command.wants_cas);
  if (command.is_last_key) reply_->Append(words::kEnd);
}

void Answers::ClassicHit(cache::Item* item, bool wants_cas) {
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

void Answers::Miss(const Command& command) {
  if (command.dialect == Dialect::kBinary) return BinaryMiss(command);
  if (command.is_last_key) reply_->Append(words::kEnd);
}

void Answers::Tell(const Command& command, Outcome outcome, const Told& told) {
  if (command.dialect == Dialect::kMeta) return MetaTell(command, outcome, told);
  if (command.dialect == Dialect::kBinary) return BinaryTell(command, outcome, told);
  if (!command.noreply) reply_->Append(WordsOf(outcome));
}

void Answers::Number(const Command& command, const cache::Delta& delta) {
  if (command.dialect == Dialect::kMeta) return MetaNumber(command, delta);
  if (command.dialect == Dialect::kBinary) return BinaryNumber(command, delta);
  if (command.noreply) return;
  char* to = reply_->Reserve(protocol::kDigitsMax + words::kCrlf.size());
  reply_->Commit(Write(protocol::WriteNumber(to, delta.value), words::kCrlf));
}

void Answers::Noop(const Command& command) {
  if (command.dialect == Dialect::kBinary) return BinaryEmpty(command, 0);
  reply_->Append(words::kMetaNoop);
}

void Answers::Version(const Command& command) {
  if (command.dialect == Dialect::kBinary) {
    return BinaryText(command, protocol::BinaryStatus::kOk, kVersion);
  }
  reply_->Append(kVersionAnswer);
}

void Answers::Quit(const Command& command) {
  if (command.dialect == Dialect::kBinary && !command.is_quiet) BinaryEmpty(command, 0);
}

void Answers::Refuse(const Command& command) {
  if (command.dialect == Dialect::kBinary) {
    return BinaryError(command, static_cast<protocol::BinaryStatus>(command.binary.status));
  }
  if (!command.noreply) reply_->Append(command.error);
}

}  // namespace server
