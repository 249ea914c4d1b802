// Bytes for people: test values, and bytes printed so that a terminal survives them.
//
// Owner: none, functions only. Threads: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace support {

// A test value: any byte may occur, and no two places look alike, so that a lost, doubled or
// misplaced piece shows. Shorter ones are the beginning of longer ones.
std::string PatternBytes(std::size_t bytes);

// `bytes` with what cannot be printed as \r, \n or \xHH. Longer than `shown_max`, the middle is
// left out and the length told.
std::string Show(std::string_view bytes, std::size_t shown_max = 240);

}  // namespace support
