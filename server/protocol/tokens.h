// Tokens: the words of a request line.
//
// Threads: any; plain functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace protocol {

// The first words of a line, how many words it has in all, and its last word.
struct Tokens {
  static constexpr std::size_t kKeptMax = 8;

  std::array<std::string_view, kKeptMax> words;
  std::size_t count = 0;
  std::string_view last;

  [[nodiscard]] std::string_view operator[](std::size_t index) const {
    return index < std::min(count, kKeptMax) ? words[index] : std::string_view();
  }
};

// Splits a line (without its end) at blanks.
inline Tokens Split(std::string_view line) {
  Tokens tokens;
  std::size_t at = 0;
  for (;;) {
    at = line.find_first_not_of(' ', at);
    if (at == std::string_view::npos) return tokens;
    const std::size_t end = std::min(line.find(' ', at), line.size());
    tokens.last = line.substr(at, end - at);
    if (tokens.count < Tokens::kKeptMax) tokens.words[tokens.count] = tokens.last;
    ++tokens.count;
    at = end;
  }
}

// Whether `token` is `name` or a beginning of it: memcached compares as many bytes as the client
// sent.
inline bool Abbreviates(std::string_view token, std::string_view name) {
  return !token.empty() && name.starts_with(token);
}

}  // namespace protocol
