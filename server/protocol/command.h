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

// The protocol a command came by, in whose words it is answered.
enum class Dialect : std::uint8_t { kClassic, kMeta, kBinary };

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
  kMetaGet,     // mg
  kMetaDelete,  // md, which may also mark an item stale or empty it
  kMetaDebug,   // me
  kFlushAll,
  kVerbosity,
  kVersion,
  kNoop,
  kSaslList,  // Which ways to authenticate there are.
  kSaslAuth,  // `key`: the way; `value`: what it wants.
  kStats,
  kAdmin,  // The other administration commands: `line` says which.
  kQuit,
  kError,  // Not a command that can be carried out: answer `error`.
  kClose,  // Close the connection without an answer.
};

// The flags of a meta command: letters, some with an argument behind them.
class MetaFlags {
 public:
  MetaFlags() = default;

  [[nodiscard]] bool Has(char letter) const { return (letters_ & Bit(letter)) != 0; }
  void Add(char letter) { letters_ |= Bit(letter); }
  // The flags as they were written, behind the key: answers keep their order.
  [[nodiscard]] std::string_view text() const { return text_; }
  void set_text(std::string_view text) { text_ = text; }

 private:
  // 'A' to 'z'.
  static std::uint64_t Bit(char letter) { return std::uint64_t{1} << (letter - 'A'); }

  std::uint64_t letters_ = 0;
  std::string_view text_;
};

// What the answer to a binary frame repeats of it.
struct BinaryFrame {
  std::uint8_t opcode = 0;
  std::uint16_t status = 0;  // kError: what to answer.
  std::uint32_t opaque = 0;  // As it came, whatever the order of its bytes.
};

struct Command {
  Verb verb = Verb::kError;
  Dialect dialect = Dialect::kClassic;
  bool noreply = false;   // Classic: no answer whatever comes of it.
  bool is_quiet = false;  // Meta, binary: the answer that is expected is left out.
  bool wants_cas = false;
  bool is_first_key = false;    // get, gat: of its list.
  bool is_last_key = false;     // get, gat: END follows.
  bool ends_list = false;       // kError: instead of all answers of a list that has begun.
  bool has_value = false;       // A value follows: storage commands, also those in error.
  bool value_is_whole = false;  // `value` holds it and its end has been checked.
  bool value_is_ended = false;  // The right line end stood behind it.
  bool sets_exptime = false;    // incr, decr, meta get and delete: `exptime` is the item's new one.
  bool creates = false;         // incr, decr, append, prepend: the item, when there is none.
  bool stale_if_older = false;  // kCas: with a lower CAS, store all the same and mark as stale.
  bool closes = false;          // kError: close the connection behind the answer.
  bool returns_key = false;     // Binary get: the answer has the key.
  bool hides_value = false;     // kGat: only the time was to be changed.
  bool key_is_binary = false;   // The key came base64-coded.
  bool create_expiry_is_last = false;   // Meta get, incr, decr: N stands behind T.
  bool recaches_by_new_expiry = false;  // Meta get: T stands before R.
  std::uint32_t value_bytes = 0;
  std::uint32_t client_flags = 0;
  std::int64_t exptime = 0;          // As the client wrote it; flush_all: the delay.
  std::int64_t create_exptime = 0;   // With `creates`, and of what a meta get makes.
  std::uint64_t cas = 0;             // Must be the item's; 0: not asked, but for kCas.
  std::uint64_t explicit_cas = 0;    // The new item's; 0: the server's choice.
  std::uint64_t number = 0;          // incr, decr: the delta; verbosity: the level.
  std::uint64_t initial = 0;         // incr, decr: the number that an item is created with.
  std::int64_t recache_exptime = 0;  // Meta get, R.
  MetaFlags meta;
  BinaryFrame binary;
  std::string_view key;
  std::string_view value;
  std::string_view line;   // stats, admin: the whole line without its end.
  std::string_view error;  // kError: the answer, with its CRLF.

  // What stands behind the value.
  [[nodiscard]] std::string_view ValueEnd() const {
    return dialect == Dialect::kBinary ? std::string_view() : std::string_view("\r\n");
  }
};

}  // namespace protocol
