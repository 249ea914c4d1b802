// ClassicParser: memcached's text protocol, from bytes to commands.
//
//   protocol::ClassicParser parser;
//   const Parsed parsed = parser.Parse(unread, &command, &decoded_key);
//   unread.remove_prefix(parsed.consumed_bytes);
//
// Parse looks at the unread bytes from the beginning of a line (or of the next key of a list) and
// takes one command, or says that it needs more. It consumes the line; the value that follows a
// storage command is the caller's to take (command.value_bytes and CRLF), also when the command is
// in error. Lines end with LF or CRLF; words are separated by blanks, and any other byte may stand
// in a key. A list of keys behind get, gets, gat or gats is taken key by key as it arrives, so it
// may be of any length. Meta commands are lines like others; see meta.h.
//
// The protocol is described in memcached's doc/protocol.txt; answers to malformed lines are those
// of 1.6.45.
//
// Owner: the connection. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/protocol/base64.h"
#include "server/protocol/command.h"
#include "server/protocol/parsed.h"

namespace protocol {

class ClassicParser {
 public:
  // *room takes a key that comes base64-coded; the command may point into it.
  Parsed Parse(std::string_view unread, Command* command, DecodedKey* room);

 private:
  enum class State : std::uint8_t {
    kLine,      // At the beginning of a line.
    kExptime,   // Behind "gat ", before its time.
    kKeys,      // In a list of keys, some of which have been taken.
    kSkipLine,  // The rest of the line is thrown away: it has been answered with an error.
  };

  Parsed ParseLine(std::string_view unread, Command* command, DecodedKey* room);
  Parsed ParseExptime(std::string_view unread, Command* command, DecodedKey* room);
  Parsed ParseKeys(std::string_view unread, Command* command);
  Parsed TakeListEnd(std::size_t at, std::string_view unread, Command* command);
  Parsed FailList(std::string_view answer, std::size_t at, std::string_view unread,
                  Command* command);
  Parsed ContinueAt(std::size_t consumed_bytes, std::string_view unread, Command* command,
                    DecodedKey* room);
  Parsed SkipLine(std::string_view unread, Command* command, DecodedKey* room);

  State state_ = State::kLine;
  Verb verb_ = Verb::kGet;
  bool wants_cas_ = false;
  bool is_first_key_ = true;
  std::int32_t exptime_ = 0;
};

// The verb's name, for logs; empty for what is no verb of a client's.
std::string_view NameOf(Verb verb);

}  // namespace protocol
