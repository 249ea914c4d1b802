// GhostTable: which keys left not long ago, so that one that comes back is known.
//
//   line of 64 bytes: | next 2 | fingerprint 2 | ... 31 of them |
//
// A hash chooses the line and the fingerprint; each line forgets its oldest. One table for all
// threads, since a key may come back at another one. Updates of two threads at once may lose one,
// and one key in some thousand is taken for another: a ghost is a hint.
//
// Owner: the SharedCache. Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace cache {

class GhostTable {
 public:
  static constexpr std::size_t kKeysPerLine = 31;

  // Reserves room for `key_count_max` keys. On failure returns null and puts the reason into
  // *error.
  static std::unique_ptr<GhostTable> Reserve(std::size_t key_count_max, std::string* error);
  ~GhostTable();
  GhostTable(const GhostTable&) = delete;
  GhostTable& operator=(const GhostTable&) = delete;

  void Add(std::uint64_t hash);
  // Whether the key is there. It no longer is.
  bool Take(std::uint64_t hash);

  // Makes it remember about so many keys. When that is far from what it does, the size changes, and
  // most of what it knew is lost.
  void Fit(std::size_t key_count);
  [[nodiscard]] std::size_t line_count() const {
    return line_count_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kWords = 8;
  struct alignas(64) Line {
    std::array<std::atomic<std::uint64_t>, kWords> words;  // Four lanes each; lane 0 is `next`.
  };
  static_assert(sizeof(Line) == 64);

  GhostTable(Line* lines, std::size_t line_count_max)
      : lines_(lines), line_count_max_(line_count_max) {}
  [[nodiscard]] Line& LineOf(std::uint64_t hash) const;

  Line* lines_;
  std::size_t line_count_max_;
  // Writer: Fit. Readers: all.
  std::atomic<std::size_t> line_count_{1};
};

}  // namespace cache
