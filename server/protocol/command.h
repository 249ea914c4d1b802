// Command: one request, whatever protocol it came by.
//
// Parsers make it, Executor carries it out, Answers words what came of it. A `get` of several keys
// is one Command a key. Texts are views into the bytes that were parsed: they live as long as
// those.
//
// Owner: a batch on the connection's path. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace protocol {

inline constexpr std::size_t kKeyBytesMax = 250;
// A request line without its end may be this long; a list of keys behind get or gets has no limit.
inline constexpr std::size_t kLineBytesMax = 2048;
inline constexpr std::uint32_t kValueBytesMax = std::uint32_t{1} << 30;

enum class Verb : std::uint8_t {
  kGet,     // One key of get or gets; `wants_cas` for gets.
  kGat,     // One key of gat or gats.
  kGetEnd,  // The end of a list whose last key could not know that it was the last.
  kSet,
  kAdd,
  kReplace,
  kAppend,
  kPrepend,
  kCas,
  kTouch,
  kDelete,
  kIncr,
  kDecr,
  kFlushAll,
  kVerbosity,
  kVersion,
  kNoop,
  kStats,
  kAdmin,  // The other administration commands: `line` says which.
  kQuit,
  kError,  // Not a command that can be carried out: answer `error`.
  kClose,  // Close the connection without an answer.
};

struct Command {
  Verb verb = Verb::kError;
  bool noreply = false;
  bool wants_cas = false;
  bool is_first_key = false;    // get, gat: of its list.
  bool is_last_key = false;     // get, gat: END follows.
  bool ends_list = false;       // kError: instead of all answers of a list that has begun.
  bool has_value = false;       // A value follows: storage commands, also those in error.
  bool value_is_whole = false;  // `value` holds it and its end has been checked.
  bool value_is_ended = false;  // The right line end stood behind it.
  std::uint32_t value_bytes = 0;
  std::uint32_t client_flags = 0;
  std::int64_t exptime = 0;  // As the client wrote it; flush_all: the delay.
  std::uint64_t cas = 0;     // Must be the item's; 0: not asked, but for kCas.
  std::uint64_t number = 0;  // incr, decr: the delta; verbosity: the level.
  std::string_view key;
  std::string_view value;
  std::string_view line;   // stats, admin: the whole line without its end.
  std::string_view error;  // kError: the answer, with its CRLF.
};

}  // namespace protocol
