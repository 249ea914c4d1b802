// Decimal numbers as values, the way incr and decr see them.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cache {

// The number a value holds: blanks, digits, then the end or a blank; what follows that blank does
// not matter. Nothing when it is no number of 64 bits.
std::optional<std::uint64_t> ParseNumber(std::string_view value);

// A number in digits.
struct NumberText {
  explicit NumberText(std::uint64_t number);
  [[nodiscard]] std::string_view text() const { return {digits + start, sizeof digits - start}; }

  char digits[20];
  std::uint32_t start;
};

}  // namespace cache
