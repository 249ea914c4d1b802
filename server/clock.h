// Clock: where the cache's times come from.
//
// One epoch for the whole server: kEpochLeadSeconds before it started. A worker reads the clock
// once a turn and hands the result on as a cache::Now; nothing on a request's path asks the system
// for the time.
//
// Owner: the server. Threads: any; Shift only where the test switch is on.
#pragma once

#include <atomic>
#include <cstdint>

#include "server/cache/clock.h"

namespace server {

class Clock {
 public:
  Clock();

  [[nodiscard]] cache::Now Read() const;
  // Seconds since 1970.
  [[nodiscard]] std::int64_t UnixSeconds(cache::Now now) const {
    return epoch_unix_s_ + now.wall_s;
  }
  // Seconds since the server started.
  [[nodiscard]] static std::uint32_t UptimeSeconds(cache::Now now) {
    return now.steady_s - cache::kEpochLeadSeconds;
  }
  // What a client's exptime means: 0 never, below 0 at once, up to 30 days from now, above that a
  // date.
  [[nodiscard]] cache::Expiry ExpiryOf(std::int64_t exptime, cache::Now now) const;

  // Tests only: time jumps by `seconds`, or stands still.
  void Shift(std::int64_t seconds);
  void Pause(bool is_paused);

 private:
  [[nodiscard]] std::int64_t SteadySeconds() const;

  std::int64_t epoch_steady_s_;
  std::int64_t epoch_unix_s_;
  // Writer: the worker that carries out `debugtime`. Readers: all, relaxed.
  std::atomic<std::int64_t> shift_s_{0};
  std::atomic<std::int64_t> paused_at_s_{-1};
};

}  // namespace server
