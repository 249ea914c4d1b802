// IndexLine: 64 bytes of the index, and how tags are matched in it.
//
//   header 8 | slot 8 | slot 8 | slot 8 | slot 8 | slot 8 | slot 8 | slot 8
//
//   header of a home line:     bit 0     writer: somebody is changing entries that live here
//                              bits 1-4  how many entries of this home lie in the neighbour line
//                              bits 5-31 number of the first overflow line, 0 for none
//                              bits 32-  version, one up with every change
//   header of an overflow line: number of the next overflow line, 0 for none
//   slot:                      tag << 48 | address of the item, 0 when empty
//
// Two lines next to each other are neighbours: either takes what the other has no room for. The
// lowest bit of a tag is that of the entry's home line, so a line knows its guests.
//
// Threads: every field is atomic; who may write what is said in index.h.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CACHE_INDEX_SCALAR 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || !defined(__SSE2__)
#define CACHE_INDEX_SCALAR 1
#endif

#if !defined(CACHE_INDEX_SCALAR)
#include <emmintrin.h>
#endif

namespace cache {

class Item;

inline constexpr std::size_t kLineSlots = 7;

struct alignas(64) IndexLine {
  std::atomic<std::uint64_t> header;
  std::array<std::atomic<std::uint64_t>, kLineSlots> slots;
};
static_assert(sizeof(IndexLine) == 64);

inline constexpr unsigned kTagShift = 48;

inline std::uint16_t TagOf(std::uint64_t slot) {
  return static_cast<std::uint16_t>(slot >> kTagShift);
}
inline Item* ItemIn(std::uint64_t slot) {
  return reinterpret_cast<Item*>(slot & ((std::uint64_t{1} << kTagShift) - 1));
}
inline std::uint64_t WordFor(std::uint16_t tag, const Item* item) {
  return std::uint64_t{tag} << kTagShift | reinterpret_cast<std::uintptr_t>(item);
}

// Bit i is set when slot i may have the tag: to be looked at again by an atomic load.
#if defined(CACHE_INDEX_SCALAR)
inline unsigned MatchTags(const IndexLine& line, std::uint16_t tag) {
  unsigned matches = 0;
  for (unsigned slot = 0; slot < kLineSlots; ++slot) {
    const bool match = TagOf(line.slots[slot].load(std::memory_order_acquire)) == tag;
    matches |= static_cast<unsigned>(match) << slot;
  }
  return matches;
}
// Orders the loads of MatchTags before a second load of the header. The loads above do that
// themselves, in a way that the thread sanitizer understands.
inline void FenceAfterMatch() {}
#else
inline unsigned MatchTags(const IndexLine& line, std::uint16_t tag) {
  const auto* words = reinterpret_cast<const __m128i*>(&line);
  // The upper half of every 8-byte word, its tag sign-extended, narrowed to 16 bits: loss-free.
  const auto upper = [words](int pair) {
    const __m128 low = _mm_castsi128_ps(_mm_load_si128(words + pair));
    const __m128 high = _mm_castsi128_ps(_mm_load_si128(words + pair + 1));
    return _mm_srai_epi32(_mm_castps_si128(_mm_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1))), 16);
  };
  const __m128i tags = _mm_packs_epi32(upper(0), upper(2));
  const __m128i equal = _mm_cmpeq_epi16(tags, _mm_set1_epi16(static_cast<std::int16_t>(tag)));
  const int bytes = _mm_movemask_epi8(_mm_packs_epi16(equal, _mm_setzero_si128()));
  return static_cast<unsigned>(bytes) >> 1U;  // The header is word 0.
}
inline void FenceAfterMatch() { std::atomic_thread_fence(std::memory_order_acquire); }
#endif

// A home line's header, taken apart.
struct LineHeader {
  static constexpr std::uint64_t kWriter = 1;
  static constexpr std::uint32_t kOverflowMax = (std::uint32_t{1} << 27) - 1;

  std::uint32_t version = 0;
  std::uint32_t overflow = 0;
  std::uint32_t spilled_count = 0;

  static LineHeader From(std::uint64_t bits) {
    return {.version = static_cast<std::uint32_t>(bits >> 32U),
            .overflow = static_cast<std::uint32_t>(bits) >> 5U,
            .spilled_count = static_cast<std::uint32_t>(bits) >> 1U & 15U};
  }
  [[nodiscard]] std::uint64_t Bits() const {
    return std::uint64_t{version} << 32U | std::uint64_t{overflow} << 5U |
           std::uint64_t{spilled_count} << 1U;
  }
};

}  // namespace cache
