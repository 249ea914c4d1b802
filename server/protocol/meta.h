// Meta commands: lines of the form "mg key flags...", a part of the classic protocol.
//
// A flag is a letter with, for some, an argument behind it; each at most once. Answers have the
// flags that were asked for in the order they were asked in, so their text is kept.
//
// The commands are described in memcached's doc/protocol.txt; answers to malformed lines are those
// of 1.6.45.
//
// Threads: any; plain functions.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "server/protocol/base64.h"
#include "server/protocol/command.h"

namespace protocol {

// Command word, key and flags of one line.
inline constexpr std::size_t kMetaWordsMax = 20;
// An opaque with its letter.
inline constexpr std::size_t kOpaqueBytesMax = 32;

// Whether the line, without its end, is a meta command: mg, ms, md, ma or me with a blank behind.
bool IsMeta(std::string_view line);

// Reads such a line into *command, which is new. A key that is base64 goes to *room.
void ReadMeta(std::string_view line, Command* command, DecodedKey* room);

// What an answer to `ms` needs of its flags once the line is gone.
using ReturnFlags = std::array<char, kOpaqueBytesMax + 2 * kMetaWordsMax>;
std::string_view CopyReturnFlags(std::string_view flags, ReturnFlags* room);

// The next word of *text, which is cut off it; empty at the end.
std::string_view TakeWord(std::string_view* text);

}  // namespace protocol
