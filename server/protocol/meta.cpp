#include "server/protocol/meta.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "server/protocol/number.h"
#include "server/protocol/words.h"

namespace protocol {
namespace {

constexpr std::string_view kSetReturns = "Okbcs";

void Fail(std::string_view answer, Command* command) {
  command->verb = Verb::kError;
  command->error = answer;
}

// Puts the number that is the flag's argument into *number; false when it is none.
template <typename Number, typename Field>
bool ReadArgument(std::string_view flag, Field* field) {
  const auto number = ParseNumber<Number>(flag.substr(1));
  if (number) *field = static_cast<Field>(*number);
  return number.has_value();
}

// Reads a flag's argument. Returns the error's answer, or nothing.
std::string_view ReadFlag(std::string_view flag, Command* command, DecodedKey* room) {
  const auto unless = [](bool is_right, std::string_view answer) {
    return is_right ? std::string_view() : answer;
  };
  switch (flag.front()) {
    case 'b': {
      const auto key = DecodeBase64(command->key, room);
      command->key_is_binary = true;
      if (key) command->key = *key;
      return unless(key.has_value(), words::kBadBase64);
    }
    case 'q':
      command->is_quiet = true;
      return {};
    case 'N':
      command->creates = true;
      command->create_expiry_is_last = command->meta.Has('T');
      return unless(ReadArgument<std::int32_t>(flag, &command->create_exptime), words::kBadToken);
    case 'T':
      command->sets_exptime = true;
      command->recaches_by_new_expiry = !command->meta.Has('R');
      return unless(ReadArgument<std::int32_t>(flag, &command->exptime), words::kBadToken);
    case 'R':
      return unless(ReadArgument<std::int32_t>(flag, &command->recache_exptime), words::kBadToken);
    case 'F':
      return unless(ReadArgument<std::uint32_t>(flag, &command->client_flags), words::kBadFormat);
    case 'C':
      return unless(ReadArgument<std::uint64_t>(flag, &command->cas), words::kBadToken);
    case 'E':
      return unless(ReadArgument<std::uint64_t>(flag, &command->explicit_cas), words::kBadToken);
    case 'J':
      return unless(ReadArgument<std::uint64_t>(flag, &command->initial), words::kBadInitial);
    case 'D':
      return unless(ReadArgument<std::uint64_t>(flag, &command->number), words::kBadDeltaValue);
    case 'O':
      return unless(flag.size() <= kOpaqueBytesMax, words::kOpaqueTooLong);
    default:
      return {};
  }
}

constexpr std::string_view kKnownFlags = "bNTRlOPLkstcfvhuqxFCEMJDI";

// Every flag is looked at: a letter that is unknown or comes twice outweighs a bad argument.
std::string_view ReadFlags(std::string_view text, Command* command, DecodedKey* room) {
  std::string_view error;
  while (true) {
    const std::string_view flag = TakeWord(&text);
    if (flag.empty()) return error;
    const char letter = flag.front();
    const bool is_known = kKnownFlags.find(letter) != std::string_view::npos;
    if (!is_known) {
      const bool is_ascii = static_cast<unsigned char>(letter) < 127;
      return is_ascii ? words::kInvalidFlag : words::kDuplicateFlag;
    }
    if (command->meta.Has(letter)) return words::kDuplicateFlag;
    command->meta.Add(letter);
    const std::string_view wrong = ReadFlag(flag, command, room);
    // That of F says least.
    if (!wrong.empty() && (letter != 'F' || error.empty())) error = wrong;
  }
}

// The letter of M, or 0 without one.
char ModeOf(const Command& command) {
  if (!command.meta.Has('M')) return 0;
  std::string_view text = command.meta.text();
  std::string_view flag;
  do flag = TakeWord(&text);
  while (flag.front() != 'M');
  return flag.size() > 1 ? flag[1] : ' ';
}

std::optional<Verb> SetVerb(char mode) {
  switch (mode) {
    case 0:
    case 'S':
      return Verb::kSet;
    case 'E':
      return Verb::kAdd;
    case 'A':
      return Verb::kAppend;
    case 'P':
      return Verb::kPrepend;
    case 'R':
      return Verb::kReplace;
    default:
      return std::nullopt;
  }
}

void ReadSetMode(Command* command) {
  const auto verb = SetVerb(ModeOf(*command));
  if (!verb) return Fail(words::kBadSetMode, command);
  command->verb = *verb;
  const bool joins = verb == Verb::kAppend || verb == Verb::kPrepend;
  command->creates &= joins;
  // What is created then lives as long as N says.
  if (command->creates) command->exptime = command->create_exptime;
  if (command->meta.Has('C') && (verb == Verb::kSet || verb == Verb::kReplace)) {
    command->verb = Verb::kCas;
    command->stale_if_older = command->meta.Has('I');
  }
}

void ReadDeltaMode(Command* command) {
  if (!command->meta.Has('D')) command->number = 1;
  switch (ModeOf(*command)) {
    case 0:
    case 'I':
    case '+':
      command->verb = Verb::kIncr;
      return;
    case 'D':
    case '-':
      command->verb = Verb::kDecr;
      return;
    default:
      return Fail(words::kBadDeltaMode, command);
  }
}

// Only b means something to `me`; the rest is not looked at.
void ReadDebugFlags(std::string_view text, Command* command, DecodedKey* room) {
  if (TakeWord(&text) != "b") return;
  if (!ReadFlag("b", command, room).empty()) Fail(words::kBadFormat, command);
}

std::size_t CountWords(std::string_view text) {
  std::size_t count = 0;
  while (!TakeWord(&text).empty()) ++count;
  return count;
}

// Reads the length that `ms` has behind its key, off *text.
bool ReadLength(std::string_view* text, Command* command) {
  const auto value_bytes = ParseNumber<std::int32_t>(TakeWord(text));
  constexpr std::int32_t kAnnouncedMax = std::numeric_limits<std::int32_t>::max() - 2;
  if (!value_bytes || *value_bytes < 0 || *value_bytes > kAnnouncedMax) return false;
  command->has_value = true;
  command->value_bytes = static_cast<std::uint32_t>(*value_bytes);
  return true;
}

Verb VerbOf(char letter) {
  switch (letter) {
    case 'g':
      return Verb::kMetaGet;
    case 'd':
      return Verb::kMetaDelete;
    case 'e':
      return Verb::kMetaDebug;
    default:
      return Verb::kSet;  // ms and ma: until their mode is known.
  }
}

}  // namespace

std::string_view TakeWord(std::string_view* text) {
  const std::size_t begin = std::min(text->find_first_not_of(' '), text->size());
  const std::size_t end = std::min(text->find(' ', begin), text->size());
  const std::string_view word = text->substr(begin, end - begin);
  text->remove_prefix(end);
  return word;
}

bool IsMeta(std::string_view line) {
  return line.size() > 2 && line[0] == 'm' && line[2] == ' ' &&
         std::string_view("gsdae").find(line[1]) != std::string_view::npos;
}

void ReadMeta(std::string_view line, Command* command, DecodedKey* room) {
  const char letter = line[1];
  command->dialect = Dialect::kMeta;
  command->verb = VerbOf(letter);
  command->line = line;
  std::string_view text = line.substr(2);
  command->key = TakeWord(&text);
  if (command->key.empty()) return Fail(words::kBadFormat, command);
  if (letter == 's' && !ReadLength(&text, command)) return Fail(words::kBadFormat, command);
  if (command->key.size() > kKeyBytesMax) return Fail(words::kBadFormat, command);
  if (letter == 'e') return ReadDebugFlags(text, command, room);
  command->meta.set_text(text);
  const std::size_t word_count = CountWords(text) + (letter == 's' ? 3 : 2);
  const std::string_view error =
      word_count > kMetaWordsMax ? words::kTooManyFlags : ReadFlags(text, command, room);
  if (!error.empty()) {
    const bool is_vague = letter == 'a' && error != words::kOpaqueTooLong;
    return Fail(is_vague ? words::kBadDeltaFlags : error, command);
  }
  if (letter == 's') ReadSetMode(command);
  if (letter == 'a') ReadDeltaMode(command);
}

std::string_view CopyReturnFlags(std::string_view flags, ReturnFlags* room) {
  char* to = room->data();
  for (;;) {
    const std::string_view flag = TakeWord(&flags);
    if (flag.empty()) break;
    if (kSetReturns.find(flag.front()) == std::string_view::npos) continue;
    to = std::ranges::copy(flag.front() == 'O' ? flag : flag.substr(0, 1), to).out;
    *to++ = ' ';
  }
  return {room->data(), static_cast<std::size_t>(to - room->data())};
}

}  // namespace protocol
