#include "server/protocol/binary.h"

#include <array>
#include <limits>

namespace protocol {
namespace {

// What a frame must look like.
enum class Shape : std::uint8_t {
  kUnknown,    // no such opcode
  kBare,       // nothing behind the header
  kKey,        // a key
  kStore,      // flags 4, exptime 4; key; value
  kJoin,       // key; value
  kDelta,      // delta 8, initial 8, exptime 4; key
  kTouch,      // exptime 4; key
  kFlush,      // exptime 4 or nothing
  kVerbosity,  // level 4
  kStat,       // a key or nothing
  kSasl,       // key: the mechanism; value
};

struct Row {
  Shape shape = Shape::kUnknown;
  Verb verb = Verb::kError;
  bool is_quiet = false;
  bool returns_key = false;
};

constexpr std::size_t kOpcodeCount = 0x26;

constexpr std::array<Row, kOpcodeCount> MakeRows() {
  std::array<Row, kOpcodeCount> rows{};
  const auto both = [&rows](std::size_t loud, std::size_t quiet, Shape shape, Verb verb) {
    rows[loud] = {.shape = shape, .verb = verb, .is_quiet = false, .returns_key = false};
    rows[quiet] = {.shape = shape, .verb = verb, .is_quiet = true, .returns_key = false};
  };
  both(0x00, 0x09, Shape::kKey, Verb::kGet);
  both(0x0c, 0x0d, Shape::kKey, Verb::kGet);
  both(0x01, 0x11, Shape::kStore, Verb::kSet);
  both(0x02, 0x12, Shape::kStore, Verb::kAdd);
  both(0x03, 0x13, Shape::kStore, Verb::kReplace);
  both(0x04, 0x14, Shape::kKey, Verb::kDelete);
  both(0x05, 0x15, Shape::kDelta, Verb::kIncr);
  both(0x06, 0x16, Shape::kDelta, Verb::kDecr);
  both(0x07, 0x17, Shape::kBare, Verb::kQuit);
  both(0x08, 0x18, Shape::kFlush, Verb::kFlushAll);
  both(0x0e, 0x19, Shape::kJoin, Verb::kAppend);
  both(0x0f, 0x1a, Shape::kJoin, Verb::kPrepend);
  both(0x1d, 0x1e, Shape::kTouch, Verb::kGat);
  both(0x23, 0x24, Shape::kTouch, Verb::kGat);
  for (const std::size_t opcode : {0x0cU, 0x0dU, 0x23U, 0x24U}) rows[opcode].returns_key = true;
  rows[0x0a] = {.shape = Shape::kBare, .verb = Verb::kNoop};
  rows[0x0b] = {.shape = Shape::kBare, .verb = Verb::kVersion};
  rows[0x10] = {.shape = Shape::kStat, .verb = Verb::kStats};
  rows[0x1b] = {.shape = Shape::kVerbosity, .verb = Verb::kVerbosity};
  rows[0x1c] = {.shape = Shape::kTouch, .verb = Verb::kGat};
  rows[0x20] = {.shape = Shape::kBare, .verb = Verb::kSaslList};
  rows[0x21] = {.shape = Shape::kSasl, .verb = Verb::kSaslAuth};
  rows[0x22] = {.shape = Shape::kSasl, .verb = Verb::kSaslAuth};
  return rows;
}
constexpr std::array<Row, kOpcodeCount> kRows = MakeRows();
constexpr std::uint8_t kTouchOpcode = 0x1c;

// The lengths a header gives.
struct Lengths {
  std::size_t key = 0;
  std::size_t extras = 0;
  std::size_t body = 0;

  [[nodiscard]] bool AreConsistent() const { return key + extras <= body; }
  [[nodiscard]] std::size_t value() const { return body - key - extras; }
};

bool Fits(Shape shape, const Lengths& lengths) {
  const bool has_value = lengths.value() != 0;
  const bool has_key = lengths.key != 0;
  switch (shape) {
    case Shape::kBare:
      return lengths.body == 0;
    case Shape::kKey:
      return has_key && lengths.extras == 0 && !has_value;
    case Shape::kStore:
      return has_key && lengths.extras == 8;
    case Shape::kJoin:
    case Shape::kSasl:
      return has_key && lengths.extras == 0;
    case Shape::kDelta:
      return has_key && lengths.extras == 20 && !has_value;
    case Shape::kTouch:
      return has_key && lengths.extras == 4 && !has_value;
    case Shape::kFlush:
      return !has_key && (lengths.extras == 0 || lengths.extras == 4) && !has_value;
    case Shape::kVerbosity:
      return !has_key && lengths.extras == 4 && !has_value;
    case Shape::kStat:
      return lengths.extras == 0 && !has_value;
    case Shape::kUnknown:
      return true;
  }
  return false;
}

void Fail(BinaryStatus status, Command* command) {
  command->verb = Verb::kError;
  command->binary.status = static_cast<std::uint16_t>(status);
}

// Where the next frame begins is not known, or not to be believed.
Parsed FailAndClose(BinaryStatus status, Command* command) {
  Fail(status, command);
  command->closes = true;
  return {.outcome = Parsed::Outcome::kCommand,
          .consumed_bytes = kBinaryHeaderBytes,
          .needed_bytes = 0};
}

void ReadStore(const char* extras, std::uint64_t cas, Command* command) {
  command->client_flags = ReadBigEndian<std::uint32_t>(extras);
  command->exptime = ReadBigEndian<std::uint32_t>(extras + 4);
  if (cas != 0) command->verb = Verb::kCas;
}

void ReadDelta(const char* extras, Command* command) {
  constexpr std::uint32_t kDoNotCreate = std::numeric_limits<std::uint32_t>::max();
  command->number = ReadBigEndian<std::uint64_t>(extras);
  command->initial = ReadBigEndian<std::uint64_t>(extras + 8);
  const auto exptime = ReadBigEndian<std::uint32_t>(extras + 16);
  command->creates = exptime != kDoNotCreate;
  command->create_exptime = exptime;
}

void ReadExtras(Shape shape, const char* extras, std::size_t extras_bytes, Command* command) {
  switch (shape) {
    case Shape::kStore:
      return ReadStore(extras, command->cas, command);
    case Shape::kDelta:
      return ReadDelta(extras, command);
    case Shape::kTouch:
      command->exptime = ReadBigEndian<std::uint32_t>(extras);
      command->hides_value = command->binary.opcode == kTouchOpcode;
      return;
    case Shape::kFlush:
      if (extras_bytes != 0) command->exptime = ReadBigEndian<std::uint32_t>(extras);
      return;
    case Shape::kVerbosity:
      command->number = ReadBigEndian<std::uint32_t>(extras);
      return;
    default:
      return;
  }
}

void ExpectValue(std::size_t bytes, Command* command) {
  command->has_value = true;
  command->value_bytes = static_cast<std::uint32_t>(bytes);
}

// The frame's body is as its opcode wants it.
void ReadBody(const Row& row, const Lengths& lengths, const char* body, Command* command) {
  command->verb = row.verb;
  command->is_quiet = row.is_quiet;
  command->returns_key = row.returns_key;
  command->key = {body + lengths.extras, lengths.key};
  ReadExtras(row.shape, body, lengths.extras, command);
  if (row.shape == Shape::kStore || row.shape == Shape::kJoin) {
    ExpectValue(lengths.value(), command);
  } else if (row.shape == Shape::kSasl) {
    command->value = {body + lengths.extras + lengths.key, lengths.value()};
  }
}

}  // namespace

std::string_view TextOf(BinaryStatus status) {
  switch (status) {
    case BinaryStatus::kOk:
      return {};
    case BinaryStatus::kNotFound:
      return "Not found";
    case BinaryStatus::kExists:
      return "Data exists for key.";
    case BinaryStatus::kTooLarge:
      return "Too large.";
    case BinaryStatus::kInvalid:
      return "Invalid arguments";
    case BinaryStatus::kNotStored:
      return "Not stored.";
    case BinaryStatus::kNonNumeric:
      return "Non-numeric server-side value for incr or decr";
    case BinaryStatus::kAuthFailed:
      return "Auth failure.";
    case BinaryStatus::kAuthContinue:
      return "Continue.";
    case BinaryStatus::kUnknownCommand:
      return "Unknown command";
    case BinaryStatus::kNoMemory:
      return "Out of memory";
  }
  return {};
}

Parsed ParseBinary(std::string_view unread, Command* command) {
  constexpr auto kNeedsMore = Parsed::Outcome::kNeedsMore;
  *command = Command();
  command->dialect = Dialect::kBinary;
  if (!unread.starts_with(kBinaryRequestMagic)) {
    command->verb = Verb::kClose;
    return {
        .outcome = Parsed::Outcome::kCommand, .consumed_bytes = unread.size(), .needed_bytes = 0};
  }
  if (unread.size() < kBinaryHeaderBytes) {
    return {.outcome = kNeedsMore, .consumed_bytes = 0, .needed_bytes = kBinaryHeaderBytes};
  }
  const char* header = unread.data();
  command->binary.opcode = static_cast<std::uint8_t>(header[1]);
  std::memcpy(&command->binary.opaque, header + 12, sizeof command->binary.opaque);
  command->cas = ReadBigEndian<std::uint64_t>(header + 16);
  const Lengths lengths = {.key = ReadBigEndian<std::uint16_t>(header + 2),
                           .extras = static_cast<std::uint8_t>(header[4]),
                           .body = ReadBigEndian<std::uint32_t>(header + 8)};
  if (!lengths.AreConsistent()) return FailAndClose(BinaryStatus::kUnknownCommand, command);
  if (lengths.body > kValueBytesMax) return FailAndClose(BinaryStatus::kInvalid, command);
  const Row row = command->binary.opcode < kOpcodeCount ? kRows[command->binary.opcode] : Row();
  if (row.shape == Shape::kUnknown) {
    Fail(BinaryStatus::kUnknownCommand, command);
    ExpectValue(lengths.body, command);
    return {.outcome = Parsed::Outcome::kCommand,
            .consumed_bytes = kBinaryHeaderBytes,
            .needed_bytes = 0};
  }
  if (lengths.key > kKeyBytesMax || !Fits(row.shape, lengths)) {
    return FailAndClose(BinaryStatus::kInvalid, command);
  }
  std::size_t front_bytes = kBinaryHeaderBytes + lengths.extras + lengths.key;
  if (row.shape == Shape::kSasl) {
    if (lengths.value() > kSaslBytesMax) return FailAndClose(BinaryStatus::kInvalid, command);
    front_bytes += lengths.value();
  }
  if (unread.size() < front_bytes) {
    return {.outcome = kNeedsMore, .consumed_bytes = 0, .needed_bytes = front_bytes};
  }
  ReadBody(row, lengths, header + kBinaryHeaderBytes, command);
  return {.outcome = Parsed::Outcome::kCommand, .consumed_bytes = front_bytes, .needed_bytes = 0};
}

}  // namespace protocol
