// Now and Expiry: what time it is for items, and when one ends.
//
// Times are whole seconds since the cache's epoch, which lies kEpochLeadSeconds before the server
// started, so that "just before the start" is a number too. Two clocks run from that epoch: a
// steady one, for lives given in seconds, and the wall clock, for lives given as a date; a step of
// the wall clock moves only the latter.
//
// Threads: values; any.
#pragma once

#include <cstdint>

namespace cache {

inline constexpr std::uint32_t kEpochLeadSeconds = 60;

// The time of one turn of a worker's loop.
struct Now {
  std::uint32_t steady_s = kEpochLeadSeconds;
  std::uint32_t wall_s = kEpochLeadSeconds;
};

// When an item ends, in 4 bytes: 0 never; the top bit says which clock the other 31 bits belong to.
class Expiry {
 public:
  static constexpr std::uint32_t kWallBit = std::uint32_t{1} << 31;

  static constexpr Expiry Never() { return Expiry(0); }
  static constexpr Expiry AtSteady(std::uint32_t seconds) { return Expiry(seconds & ~kWallBit); }
  static constexpr Expiry AtWall(std::uint32_t seconds) { return Expiry(seconds | kWallBit); }
  // In the past for either clock.
  static constexpr Expiry Past() { return Expiry(1); }
  static constexpr Expiry FromBits(std::uint32_t bits) { return Expiry(bits); }

  [[nodiscard]] constexpr std::uint32_t bits() const { return bits_; }
  [[nodiscard]] constexpr bool is_never() const { return bits_ == 0; }
  [[nodiscard]] constexpr bool IsDue(Now now) const {
    return !is_never() && RemainingSeconds(now) <= 0;
  }
  [[nodiscard]] constexpr bool is_wall() const { return (bits_ & kWallBit) != 0; }
  // Of whichever clock.
  [[nodiscard]] constexpr std::uint32_t seconds() const { return bits_ & ~kWallBit; }
  // Seconds left; zero or less when due. Meaningless for Never().
  [[nodiscard]] constexpr std::int64_t RemainingSeconds(Now now) const {
    return std::int64_t{seconds()} - (is_wall() ? now.wall_s : now.steady_s);
  }
  friend constexpr bool operator==(Expiry, Expiry) = default;

 private:
  explicit constexpr Expiry(std::uint32_t bits) : bits_(bits) {}
  std::uint32_t bits_;
};
static_assert(sizeof(Expiry) == 4);

}  // namespace cache
