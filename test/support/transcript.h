// Transcript: a conversation with a server, written down in a text file.
//
//   # a comment
//   # flags: -I 2m                      flags this server needs
//   # differs from memcached: why       memcached is known to answer otherwise
//   > get apple                         sent, with CR LF
//   >> set a 0 0 1\nx\r\n               sent as it is: no line end of ours
//   < END                               expected, with CR LF
//   << x\r\n                            expected as it is
//   = VALUE a 0 1 {id}                  expected: a line that matches this regular expression
//   ...                                 any number of lines, up to the first that is as the next
//   one < close                             expected: the end of the stream, and nothing before it
//   + cmd_get 1 get_misses 1            over the whole conversation these counters grow by so much
//   @ other                             from here on the connection of this name (first: "main")
//   % settle                            all answers so far are awaited before more is sent
//   % wait 2100 ms
//   % half-close                        the client will send no more
//   % reset                             the connection is reset
//   % differ ID1 ID2                    two captured values must not be the same
//   % repeat 40 i                       what follows up to "% end", so often, with \{i} from 0
//   % end
//
// Texts after > >> < << have the escapes of Template. In a pattern (ECMAScript), {NAME} captures a
// word, or, if NAME has been captured before, stands for that very value.
//
// Owner: the test. Threads: any, read only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "test/support/template.h"

namespace support {

enum class StepKind : std::uint8_t {
  kSend,
  kExpect,
  kExpectPattern,
  kExpectClose,
  kUse,
  kSettle,
  kWait,
  kHalfClose,
  kReset,
  kDiffer,
};

struct Step {
  StepKind kind = StepKind::kSend;
  int line = 0;                    // In the file, from 1.
  Template text;                   // kSend, kExpect
  std::vector<std::string> words;  // kExpectPattern: the pattern. kUse: a name. kDiffer: two names.
  bool skips_lines = false;        // kExpect, kExpectPattern: lines before it do not matter.
  std::chrono::milliseconds pause{0};  // kWait
};

struct Transcript {
  std::string path;
  std::vector<std::string> flags;
  std::string differs;  // Why memcached answers otherwise; empty: it does not.
  std::vector<Step> steps;
  std::vector<std::pair<std::string, std::int64_t>> counters;  // Name and growth.
};

// Both throw Failure, beginning with "path:line: ", on a line that is none of these.
Transcript ParseTranscript(std::string path, std::string_view text);
Transcript LoadTranscript(const std::string& path);

}  // namespace support
