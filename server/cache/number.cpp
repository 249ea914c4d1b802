#include "server/cache/number.h"

#include <cstddef>

namespace cache {
namespace {

bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::optional<std::uint64_t> ParseNumber(std::string_view value) {
  std::size_t at = 0;
  while (at < value.size() && IsBlank(value[at])) ++at;
  if (at < value.size() && value[at] == '+') ++at;
  if (at == value.size() || !IsDigit(value[at])) return std::nullopt;
  std::uint64_t number = 0;
  for (; at < value.size() && IsDigit(value[at]); ++at) {
    const auto digit = static_cast<std::uint64_t>(value[at] - '0');
    if (__builtin_mul_overflow(number, std::uint64_t{10}, &number) ||
        __builtin_add_overflow(number, digit, &number)) {
      return std::nullopt;
    }
  }
  if (at < value.size() && !IsBlank(value[at])) return std::nullopt;
  return number;
}

NumberText::NumberText(std::uint64_t number) : start(sizeof digits) {
  do {
    digits[--start] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
}

}  // namespace cache
