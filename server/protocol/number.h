// Decimal numbers as protocols write them: the whole token, no blanks, no plus sign.
//
// Threads: any; plain functions.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>

namespace protocol {

// The most digits a 64-bit number has.
inline constexpr std::size_t kDigitsMax = 20;

// The number that `token` is, or nothing when it is not one or does not fit. Signed types take a
// minus sign.
template <std::integral Number>
std::optional<Number> ParseNumber(std::string_view token) {
  Number number{};
  const char* end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

// The same for a number with a fraction or an exponent.
inline std::optional<double> ParseReal(std::string_view token) {
  double real = 0;
  const char* end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, real);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return real;
}

// Writes `number` to `to`, which has room for kDigitsMax bytes; returns the end.
template <std::unsigned_integral Number>
char* WriteNumber(char* to, Number number) {
  return std::to_chars(to, to + kDigitsMax, number).ptr;
}

}  // namespace protocol
