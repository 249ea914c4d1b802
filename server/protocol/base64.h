// Base64 (RFC 4648, section 4, with padding), as meta commands code keys of any bytes.
//
// Threads: any; plain functions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "server/protocol/command.h"

namespace protocol {

constexpr std::size_t Base64Bytes(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

// Room for what a key's text stands for.
using DecodedKey = std::array<char, kKeyBytesMax / 4 * 3>;

// Writes Base64Bytes(bytes.size()) bytes to `to`; returns the end.
char* EncodeBase64(char* to, std::string_view bytes);

// What `text`, which is no longer than a key may be, stands for, written into *room; nothing when
// it is empty or no base64.
std::optional<std::string_view> DecodeBase64(std::string_view text, DecodedKey* room);

}  // namespace protocol
