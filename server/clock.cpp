#include "server/clock.h"

#include <time.h>

#include <algorithm>

namespace server {
namespace {

constexpr std::int64_t kRelativeSecondsMax = std::int64_t{30} * 24 * 60 * 60;

std::int64_t ReadSeconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec;
}

std::uint32_t Clamp(std::int64_t seconds) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(seconds, 0, cache::Expiry::kWallBit - 1));
}

}  // namespace

Clock::Clock()
    : epoch_steady_s_(ReadSeconds(CLOCK_BOOTTIME) - cache::kEpochLeadSeconds),
      epoch_unix_s_(ReadSeconds(CLOCK_REALTIME) - cache::kEpochLeadSeconds) {}

std::int64_t Clock::SteadySeconds() const {
  const std::int64_t paused_at_s = paused_at_s_.load(std::memory_order_relaxed);
  return paused_at_s >= 0 ? paused_at_s : ReadSeconds(CLOCK_BOOTTIME) - epoch_steady_s_;
}

cache::Now Clock::Read() const {
  const std::int64_t shift_s = shift_s_.load(std::memory_order_relaxed);
  return {.steady_s = Clamp(SteadySeconds() + shift_s),
          .wall_s = Clamp(ReadSeconds(CLOCK_REALTIME) - epoch_unix_s_ + shift_s)};
}

cache::Expiry Clock::ExpiryOf(std::int64_t exptime, cache::Now now) const {
  if (exptime == 0) return cache::Expiry::Never();
  if (exptime < 0) return cache::Expiry::Past();
  if (exptime <= kRelativeSecondsMax) {
    return cache::Expiry::AtSteady(Clamp(now.steady_s + exptime));
  }
  const std::int64_t at = exptime - epoch_unix_s_;
  return at <= 0 ? cache::Expiry::Past() : cache::Expiry::AtWall(Clamp(at));
}

void Clock::Shift(std::int64_t seconds) {
  shift_s_.store(shift_s_.load(std::memory_order_relaxed) + seconds, std::memory_order_relaxed);
}

void Clock::Pause(bool is_paused) {
  paused_at_s_.store(is_paused ? SteadySeconds() : -1, std::memory_order_relaxed);
}

}  // namespace server
