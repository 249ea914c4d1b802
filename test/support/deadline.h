// Deadline: a moment after which a test no longer waits. Every wait of a test has one.
//
// Owner: whoever waits. Threads: any.
#pragma once

#include <algorithm>
#include <chrono>

namespace support {

// Far longer than any answer takes, on a loaded machine under a sanitizer too: it decides only
// that a test ends.
inline constexpr std::chrono::milliseconds kWaitMax{30'000};

class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds from_now)
      : end_(std::chrono::steady_clock::now() + from_now) {}

  [[nodiscard]] bool passed() const { return std::chrono::steady_clock::now() >= end_; }
  // As poll() takes it: 0 when it has passed.
  [[nodiscard]] int remaining_ms() const {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now());
    return static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
  }

 private:
  std::chrono::steady_clock::time_point end_;
};

}  // namespace support
