// Finding the end of a word fast.
//
// Threads: any; plain functions.
#pragma once

#include <bit>
#include <cstddef>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace protocol {

// Where the first blank or LF is; text.size() when there is none. Reads nothing beyond the text.
inline std::size_t FindBlankOrLf(std::string_view text) {
  std::size_t at = 0;
#ifdef __SSE2__
  const __m128i blank = _mm_set1_epi8(' ');
  const __m128i lf = _mm_set1_epi8('\n');
  for (; at + sizeof(__m128i) <= text.size(); at += sizeof(__m128i)) {
    __m128i bytes;
    __builtin_memcpy(&bytes, text.data() + at, sizeof bytes);
    const __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, blank), _mm_cmpeq_epi8(bytes, lf));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(found));
    if (mask != 0) return at + static_cast<std::size_t>(std::countr_zero(mask));
  }
#endif
  while (at < text.size() && text[at] != ' ' && text[at] != '\n') ++at;
  return at;
}

}  // namespace protocol
