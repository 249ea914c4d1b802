// The answers to binary frames; server/protocol/binary.h draws them.
#include <algorithm>
#include <cstring>

#include "server/answers.h"
#include "server/protocol/binary.h"
#include "server/version.h"

namespace server {
namespace {

using protocol::BinaryStatus;
using protocol::Command;
using protocol::Verb;

// A join that fails says no more than that; add and replace say why.
BinaryStatus NotStoredStatus(Verb verb) {
  switch (verb) {
    case Verb::kAdd:
      return BinaryStatus::kExists;
    case Verb::kReplace:
      return BinaryStatus::kNotFound;
    default:
      return BinaryStatus::kNotStored;
  }
}

BinaryStatus StatusOf(Outcome outcome, Verb verb) {
  switch (outcome) {
    case Outcome::kOk:
    case Outcome::kStored:
    case Outcome::kDeleted:
    case Outcome::kTouched:
      return BinaryStatus::kOk;
    case Outcome::kNotStored:
      return NotStoredStatus(verb);
    case Outcome::kExists:
      return BinaryStatus::kExists;
    case Outcome::kNotFound:
      return BinaryStatus::kNotFound;
    case Outcome::kTooLarge:
      return BinaryStatus::kTooLarge;
    case Outcome::kNoMemoryStoring:
    case Outcome::kNoMemory:
      return BinaryStatus::kNoMemory;
    case Outcome::kNonNumeric:
      return BinaryStatus::kNonNumeric;
    case Outcome::kFlushNotAllowed:
      return BinaryStatus::kAuthFailed;
    case Outcome::kBadDataChunk:
    case Outcome::kUnknown:
      break;
  }
  return BinaryStatus::kUnknownCommand;
}

}  // namespace

char* WriteBinaryHeader(char* to, const protocol::BinaryFrame& frame, const BinaryHead& head) {
  *to++ = protocol::kBinaryAnswerMagic;
  *to++ = static_cast<char>(frame.opcode);
  to = protocol::WriteBigEndian(to, head.key_bytes);
  *to++ = static_cast<char>(head.extras_bytes);
  *to++ = 0;
  to = protocol::WriteBigEndian(to, static_cast<std::uint16_t>(head.status));
  to = protocol::WriteBigEndian(to, head.body_bytes);
  std::memcpy(to, &frame.opaque, sizeof frame.opaque);
  return protocol::WriteBigEndian(to + sizeof frame.opaque, head.cas);
}

void Answers::BinaryEmpty(const Command& command, std::uint64_t cas) {
  char* to = reply_->Reserve(protocol::kBinaryHeaderBytes);
  reply_->Commit(WriteBinaryHeader(to, command.binary, {.cas = cas}));
}

void Answers::BinaryText(const Command& command, BinaryStatus status, std::string_view text) {
  char* to = reply_->Reserve(protocol::kBinaryHeaderBytes);
  reply_->Commit(
      WriteBinaryHeader(to, command.binary,
                        {.status = status, .body_bytes = static_cast<std::uint32_t>(text.size())}));
  reply_->Append(text);
}

void Answers::BinaryError(const Command& command, BinaryStatus status) {
  BinaryText(command, status, protocol::TextOf(status));
}

void Answers::BinaryHit(const Command& command, cache::Item* item) {
  constexpr std::uint32_t kFlagsBytes = 4;
  const std::string_view key = command.returns_key ? command.key : std::string_view();
  const std::uint32_t value_bytes = command.hides_value ? 0 : item->value_bytes();
  const auto key_bytes = static_cast<std::uint16_t>(key.size());
  char* to = reply_->Reserve(protocol::kBinaryHeaderBytes + kFlagsBytes + protocol::kKeyBytesMax);
  to = WriteBinaryHeader(to, command.binary,
                         {.key_bytes = key_bytes,
                          .extras_bytes = kFlagsBytes,
                          .body_bytes = kFlagsBytes + key_bytes + value_bytes,
                          .cas = item->cas()});
  to = protocol::WriteBigEndian(to, item->client_flags());
  reply_->Commit(std::ranges::copy(key, to).out);
  if (!command.hides_value) reply_->AppendValue(item);
}

void Answers::BinaryMiss(const Command& command) {
  if (command.is_quiet) return;
  if (!command.returns_key) return BinaryError(command, BinaryStatus::kNotFound);
  char* to = reply_->Reserve(protocol::kBinaryHeaderBytes);
  reply_->Commit(WriteBinaryHeader(to, command.binary,
                                   {.status = BinaryStatus::kNotFound,
                                    .key_bytes = static_cast<std::uint16_t>(command.key.size()),
                                    .body_bytes = static_cast<std::uint32_t>(command.key.size())}));
  reply_->Append(command.key);
}

void Answers::BinaryTell(const Command& command, Outcome outcome, const Told& told) {
  const BinaryStatus status = StatusOf(outcome, command.verb);
  if (status != BinaryStatus::kOk) return BinaryError(command, status);
  if (!command.is_quiet) BinaryEmpty(command, told.cas);
}

void Answers::BinaryNumber(const Command& command, const cache::Delta& delta) {
  if (command.is_quiet) return;
  constexpr std::uint32_t kNumberBytes = 8;
  char* to = reply_->Reserve(protocol::kBinaryHeaderBytes + kNumberBytes);
  to = WriteBinaryHeader(to, command.binary, {.body_bytes = kNumberBytes, .cas = delta.cas});
  reply_->Commit(protocol::WriteBigEndian(to, delta.value));
}

void Answers::SaslList(const Command& command, std::string_view names) {
  BinaryText(command, BinaryStatus::kOk, names);
}

}  // namespace server
