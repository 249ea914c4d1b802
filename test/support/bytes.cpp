#include "test/support/bytes.h"

#include <fmt/format.h>

#include <cstdint>

namespace support {
namespace {

void AppendShown(std::string_view bytes, std::string* shown) {
  for (const char byte : bytes) {
    const auto code = static_cast<unsigned char>(byte);
    if (byte == '\r') {
      *shown += "\\r";
    } else if (byte == '\n') {
      *shown += "\\n";
    } else if (byte == '\\') {
      *shown += "\\\\";
    } else if (code < 0x20 || code > 0x7e) {
      *shown += fmt::format("\\x{:02x}", code);
    } else {
      *shown += byte;
    }
  }
}

}  // namespace

std::string PatternBytes(std::size_t bytes) {
  std::string pattern(bytes, '\0');
  std::uint64_t state = 0x9e3779b97f4a7c15;
  for (char& byte : pattern) {  // Marsaglia's xorshift64: "Xorshift RNGs", 2003.
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<char>(state >> 56);
  }
  return pattern;
}

std::string Show(std::string_view bytes, std::size_t shown_max) {
  std::string shown;
  if (bytes.size() <= shown_max) {
    AppendShown(bytes, &shown);
    return shown;
  }
  const std::size_t tail_bytes = shown_max / 4;
  AppendShown(bytes.substr(0, shown_max - tail_bytes), &shown);
  shown += " ... ";
  AppendShown(bytes.substr(bytes.size() - tail_bytes), &shown);
  return shown + fmt::format(" ({} bytes)", bytes.size());
}

}  // namespace support
