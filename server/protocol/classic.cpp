#include "server/protocol/classic.h"

#include <algorithm>
#include <array>
#include <limits>

#include "server/protocol/meta.h"
#include "server/protocol/number.h"
#include "server/protocol/scan.h"
#include "server/protocol/tokens.h"
#include "server/protocol/words.h"

namespace protocol {
namespace {

// What follows a verb on its line.
enum class Shape : std::uint8_t {
  kStorage,  // key flags exptime bytes [unique] [noreply], then the value
  kTouch,    // key exptime [noreply]
  kDelta,    // key delta [noreply]
  kDelete,   // key [ignored] [noreply]
  kFlush,    // [delay] [noreply]
  kLevel,    // level [noreply]
  kKeys,     // a key at least; what has one is read elsewhere and does not come here
  kBare,     // anything, ignored
  kLine,     // judged by whoever carries it out
};

struct VerbRow {
  std::string_view name;
  Verb verb;
  Shape shape;
};

constexpr std::array kVerbs = {
    VerbRow{"set", Verb::kSet, Shape::kStorage},
    VerbRow{"add", Verb::kAdd, Shape::kStorage},
    VerbRow{"replace", Verb::kReplace, Shape::kStorage},
    VerbRow{"append", Verb::kAppend, Shape::kStorage},
    VerbRow{"prepend", Verb::kPrepend, Shape::kStorage},
    VerbRow{"cas", Verb::kCas, Shape::kStorage},
    VerbRow{"get", Verb::kGet, Shape::kKeys},
    VerbRow{"gets", Verb::kGet, Shape::kKeys},
    VerbRow{"gat", Verb::kGat, Shape::kKeys},
    VerbRow{"gats", Verb::kGat, Shape::kKeys},
    VerbRow{"delete", Verb::kDelete, Shape::kDelete},
    VerbRow{"incr", Verb::kIncr, Shape::kDelta},
    VerbRow{"decr", Verb::kDecr, Shape::kDelta},
    VerbRow{"touch", Verb::kTouch, Shape::kTouch},
    VerbRow{"flush_all", Verb::kFlushAll, Shape::kFlush},
    VerbRow{"verbosity", Verb::kVerbosity, Shape::kLevel},
    VerbRow{"version", Verb::kVersion, Shape::kBare},
    VerbRow{"quit", Verb::kQuit, Shape::kBare},
    VerbRow{"mn", Verb::kNoop, Shape::kBare},
    VerbRow{"mg", Verb::kMetaGet, Shape::kKeys},
    VerbRow{"ms", Verb::kMetaGet, Shape::kKeys},
    VerbRow{"md", Verb::kMetaDelete, Shape::kKeys},
    VerbRow{"ma", Verb::kMetaGet, Shape::kKeys},
    VerbRow{"me", Verb::kMetaDebug, Shape::kKeys},
    VerbRow{"stats", Verb::kStats, Shape::kLine},
    VerbRow{"slabs", Verb::kAdmin, Shape::kLine},
    VerbRow{"lru", Verb::kAdmin, Shape::kLine},
    VerbRow{"lru_crawler", Verb::kAdmin, Shape::kLine},
    VerbRow{"cache_memlimit", Verb::kAdmin, Shape::kLine},
    VerbRow{"watch", Verb::kAdmin, Shape::kLine},
    VerbRow{"shutdown", Verb::kAdmin, Shape::kLine},
    VerbRow{"debugtime", Verb::kAdmin, Shape::kLine},
};

const VerbRow* FindVerb(std::string_view name) {
  for (const VerbRow& row : kVerbs) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

void Fail(std::string_view answer, Command* command) {
  command->verb = Verb::kError;
  command->error = answer;
}

// Where it is not known what follows, `noreply` is not believed either.
void FailAloud(std::string_view answer, Command* command) {
  command->noreply = false;
  Fail(answer, command);
}

void ReadStorage(const Tokens& tokens, Command* command) {
  if (tokens.count < 5) return FailAloud(words::kBadFormat, command);
  const auto value_bytes = ParseNumber<std::int32_t>(tokens[4]);
  constexpr std::int32_t kAnnouncedMax = std::numeric_limits<std::int32_t>::max() - 2;
  if (!value_bytes || *value_bytes < 0 || *value_bytes > kAnnouncedMax) {
    return FailAloud(words::kBadFormat, command);
  }
  // From here on the value follows, even if the command is refused.
  command->has_value = true;
  command->value_bytes = static_cast<std::uint32_t>(*value_bytes);
  // Flags above 32 bits are cut, as memcached does.
  const auto client_flags = ParseNumber<std::uint64_t>(tokens[2]);
  const auto exptime = ParseNumber<std::int64_t>(tokens[3]);
  const auto unique = ParseNumber<std::uint64_t>(tokens[5]);
  const bool is_cas = command->verb == Verb::kCas;
  if (command->key.size() > kKeyBytesMax || !client_flags || !exptime || (is_cas && !unique)) {
    return Fail(words::kBadFormat, command);
  }
  command->client_flags = static_cast<std::uint32_t>(*client_flags);
  command->exptime = *exptime;
  command->cas = is_cas ? *unique : 0;
}

void ReadTouch(const Tokens& tokens, Command* command) {
  if (tokens.count < 3 || command->key.size() > kKeyBytesMax) {
    return Fail(words::kBadFormat, command);
  }
  const auto exptime = ParseNumber<std::int32_t>(tokens[2]);
  if (!exptime) return Fail(words::kBadExptime, command);
  command->exptime = *exptime;
}

void ReadDelta(const Tokens& tokens, Command* command) {
  if (tokens.count < 3 || command->key.size() > kKeyBytesMax) {
    return Fail(words::kBadFormat, command);
  }
  const auto delta = ParseNumber<std::uint64_t>(tokens[2]);
  if (!delta) return Fail(words::kBadDelta, command);
  command->number = *delta;
}

// Old clients send a time behind the key; it is ignored. More than that is a mistake.
void ReadDelete(const Tokens& tokens, Command* command) {
  const bool is_right = tokens.count >= 2 && tokens.count <= 4;
  if (!is_right || command->key.size() > kKeyBytesMax) Fail(words::kBadFormat, command);
}

void ReadFlush(const Tokens& tokens, Command* command) {
  command->exptime = 0;
  if (tokens.count == (command->noreply ? 2U : 1U)) return;
  const auto delay = ParseNumber<std::int32_t>(tokens[1]);
  if (!delay) return Fail(words::kBadExptime, command);
  command->exptime = *delay;
}

void ReadLevel(const Tokens& tokens, Command* command) {
  const auto level = ParseNumber<std::uint32_t>(tokens[1]);
  if (!level) return Fail(words::kBadFormat, command);
  command->number = *level;
}

void ReadUnknown(const Tokens& tokens, Command* command) {
  // A browser has been made to talk to us: do not read its body as commands.
  if (tokens.count > 1 && tokens.last.starts_with("HTTP/")) {
    command->verb = Verb::kClose;
    return;
  }
  Fail(words::kError, command);
}

void ReadLine(std::string_view line, Command* command, DecodedKey* room) {
  if (IsMeta(line)) return ReadMeta(line, command, room);
  const Tokens tokens = Split(line);
  command->noreply = tokens.count > 1 && tokens.last == "noreply";
  // The verb begins the line: blanks before it make it unknown.
  const bool starts_with_verb = !line.empty() && line.front() != ' ';
  const VerbRow* row = starts_with_verb ? FindVerb(tokens[0]) : nullptr;
  if (row == nullptr) return ReadUnknown(tokens, command);
  command->verb = row->verb;
  command->key = tokens[1];
  command->line = line;
  switch (row->shape) {
    case Shape::kStorage:
      return ReadStorage(tokens, command);
    case Shape::kTouch:
      return ReadTouch(tokens, command);
    case Shape::kDelta:
      return ReadDelta(tokens, command);
    case Shape::kDelete:
      return ReadDelete(tokens, command);
    case Shape::kFlush:
      return ReadFlush(tokens, command);
    case Shape::kLevel:
      return ReadLevel(tokens, command);
    case Shape::kKeys:
      return Fail(words::kBadFormat, command);
    case Shape::kBare:
    case Shape::kLine:
      command->noreply = false;
      return;
  }
}

// The line without its LF or CRLF.
std::string_view WithoutEnd(std::string_view line_and_lf) {
  line_and_lf.remove_suffix(1);
  if (line_and_lf.ends_with('\r')) line_and_lf.remove_suffix(1);
  return line_and_lf;
}

// What a line that lists keys begins with.
struct ListHead {
  std::size_t bytes = 0;  // 0: the line begins with something else.
  Verb verb = Verb::kGet;
  bool wants_cas = false;
};

ListHead ReadListHead(std::string_view unread) {
  if (!unread.starts_with('g')) return {};
  if (unread.starts_with("get ")) return {.bytes = 4, .verb = Verb::kGet, .wants_cas = false};
  if (unread.starts_with("gets ")) return {.bytes = 5, .verb = Verb::kGet, .wants_cas = true};
  if (unread.starts_with("gat ")) return {.bytes = 4, .verb = Verb::kGat, .wants_cas = false};
  if (unread.starts_with("gats ")) return {.bytes = 5, .verb = Verb::kGat, .wants_cas = true};
  return {};
}

std::size_t SkipBlanks(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] == ' ') ++at;
  return at;
}

// How many bytes of line end stand at `at`: 1 or 2; 0 when something else does.
std::size_t LineEndBytes(std::string_view text, std::size_t at) {
  if (at < text.size() && text[at] == '\n') return 1;
  return text.substr(at).starts_with(words::kCrlf) ? 2 : 0;
}

Parsed NeedsMore(std::size_t consumed_bytes) {
  return {
      .outcome = Parsed::Outcome::kNeedsMore, .consumed_bytes = consumed_bytes, .needed_bytes = 0};
}

Parsed Took(std::size_t consumed_bytes) {
  return {
      .outcome = Parsed::Outcome::kCommand, .consumed_bytes = consumed_bytes, .needed_bytes = 0};
}

}  // namespace

std::string_view NameOf(Verb verb) {
  const VerbRow* row = std::ranges::find(kVerbs, verb, &VerbRow::verb);
  return row == kVerbs.end() ? std::string_view() : row->name;
}

Parsed ClassicParser::Parse(std::string_view unread, Command* command, DecodedKey* room) {
  switch (state_) {
    case State::kLine:
      return ParseLine(unread, command, room);
    case State::kExptime:
      return ParseExptime(unread, command, room);
    case State::kKeys:
      return ParseKeys(unread, command);
    case State::kSkipLine:
      return SkipLine(unread, command, room);
  }
  return {};
}

Parsed ClassicParser::ParseLine(std::string_view unread, Command* command, DecodedKey* room) {
  if (const ListHead head = ReadListHead(unread); head.bytes != 0) {
    verb_ = head.verb;
    wants_cas_ = head.wants_cas;
    is_first_key_ = true;
    state_ = verb_ == Verb::kGat ? State::kExptime : State::kKeys;
    return ContinueAt(head.bytes, unread, command, room);
  }
  const std::size_t lf = unread.find('\n');
  *command = Command();
  if (lf == std::string_view::npos) {
    if (unread.size() <= kLineBytesMax) return NeedsMore(0);
    command->verb = Verb::kClose;
    return Took(unread.size());
  }
  const std::string_view line = WithoutEnd(unread.substr(0, lf + 1));
  if (line.size() < 2) {
    Fail(words::kBadFormat, command);  // No command is that short, and an empty line is none.
  } else {
    ReadLine(line, command, room);
  }
  return Took(lf + 1);
}

Parsed ClassicParser::ContinueAt(std::size_t consumed_bytes, std::string_view unread,
                                 Command* command, DecodedKey* room) {
  Parsed parsed = Parse(unread.substr(consumed_bytes), command, room);
  parsed.consumed_bytes += consumed_bytes;
  return parsed;
}

Parsed ClassicParser::ParseExptime(std::string_view unread, Command* command, DecodedKey* room) {
  const std::size_t begin = SkipBlanks(unread, 0);
  const std::size_t end = begin + FindBlankOrLf(unread.substr(begin));
  *command = Command();
  if (end == unread.size()) {
    if (unread.size() <= kLineBytesMax) return NeedsMore(0);
    command->verb = Verb::kClose;
    return Took(unread.size());
  }
  if (unread[end] == '\n') return FailList(words::kBadFormat, end, unread, command);
  const auto exptime = ParseNumber<std::int32_t>(unread.substr(begin, end - begin));
  if (!exptime) return FailList(words::kBadExptime, end, unread, command);
  exptime_ = *exptime;
  state_ = State::kKeys;
  return ContinueAt(end, unread, command, room);
}

Parsed ClassicParser::ParseKeys(std::string_view unread, Command* command) {
  const std::size_t begin = SkipBlanks(unread, 0);
  if (const std::size_t line_end_bytes = LineEndBytes(unread, begin); line_end_bytes != 0) {
    if (is_first_key_) return FailList(words::kBadFormat, begin, unread, command);
    state_ = State::kLine;
    *command = Command();
    command->verb = Verb::kGetEnd;
    return Took(begin + line_end_bytes);
  }
  const std::size_t end = begin + FindBlankOrLf(unread.substr(begin));
  const bool is_whole = end < unread.size();
  // A CR at the very end may belong to the line's end.
  if (!is_whole && end - begin <= kKeyBytesMax + 1) return NeedsMore(begin);
  std::string_view key = unread.substr(begin, end - begin);
  if (is_whole && unread[end] == '\n' && key.ends_with('\r')) key.remove_suffix(1);
  if (key.size() > kKeyBytesMax) return FailList(words::kBadFormat, end, unread, command);
  *command = Command();
  command->verb = verb_;
  command->wants_cas = wants_cas_;
  command->key = key;
  command->exptime = exptime_;
  command->is_first_key = is_first_key_;
  is_first_key_ = false;
  return TakeListEnd(end, unread, command);
}

Parsed ClassicParser::TakeListEnd(std::size_t at, std::string_view unread, Command* command) {
  at = SkipBlanks(unread, at);
  const bool is_crlf_of_key = at < unread.size() && unread[at] == '\n';
  const std::size_t line_end_bytes = is_crlf_of_key ? 1 : LineEndBytes(unread, at);
  if (line_end_bytes == 0) return Took(at);
  command->is_last_key = true;
  state_ = State::kLine;
  return Took(at + line_end_bytes);
}

Parsed ClassicParser::FailList(std::string_view answer, std::size_t at, std::string_view unread,
                               Command* command) {
  *command = Command();
  Fail(answer, command);
  command->ends_list = !is_first_key_;
  const std::size_t lf = unread.find('\n', at);
  const bool has_end = lf != std::string_view::npos;
  state_ = has_end ? State::kLine : State::kSkipLine;
  return Took(has_end ? lf + 1 : unread.size());
}

Parsed ClassicParser::SkipLine(std::string_view unread, Command* command, DecodedKey* room) {
  const std::size_t lf = unread.find('\n');
  if (lf == std::string_view::npos) return NeedsMore(unread.size());
  state_ = State::kLine;
  if (lf + 1 == unread.size()) return NeedsMore(lf + 1);
  return ContinueAt(lf + 1, unread, command, room);
}

}  // namespace protocol
