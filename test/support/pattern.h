// Patterns of transcripts: an ECMAScript regular expression for a whole line, in which {NAME}
// (beginning with a letter) captures a word, or stands for what NAME captured before.
//
// Owner: none, functions only. Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "test/support/template.h"

namespace support {

// The names in it, in their order. Throws Failure if the expression is malformed.
std::vector<std::string> NamesIn(std::string_view pattern);

// Whether `line` (without its line end) matches; if it does, what is captured goes to *captured.
bool Matches(std::string_view pattern, const std::string& line, Variables* captured);

}  // namespace support
