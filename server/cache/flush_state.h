// FlushState: which items a flush_all has made invalid, in one word.
//
// Every item carries the generation it was stored in (modulo ItemAccess::kGenerationCount); those
// of other generations are gone. A flush with a delay waits beside the generation, so that firing
// it and counting the generation up are one change.
//
//   bits 0-31  generation    bits 32-63  second at which the pending flush fires, 0 for none
//
// Owner: the SharedCache. Threads: any.
#pragma once

#include <atomic>
#include <cstdint>

#include "server/cache/clock.h"
#include "server/cache/item_access.h"

namespace cache {

class FlushState {
 public:
  [[nodiscard]] std::uint32_t generation() const {
    return static_cast<std::uint32_t>(word_.load(std::memory_order_acquire));
  }
  [[nodiscard]] bool Covers(const Item* item) const {
    return ItemAccess::Generation(item) != generation() % ItemAccess::kGenerationCount;
  }
  [[nodiscard]] bool IsDue(Now now) const {
    const std::uint64_t due_s = word_.load(std::memory_order_relaxed) >> 32U;
    return due_s != 0 && now.steady_s >= due_s;
  }
  // Replaces what is pending.
  void Schedule(std::uint32_t due_s) {
    Change(
        [due_s](std::uint64_t word) { return std::uint64_t{due_s} << 32U | (word & UINT32_MAX); });
  }
  // Begins a new generation; nothing is pending any more.
  void Flush() {
    Change([](std::uint64_t word) { return (word + 1) & UINT32_MAX; });
  }
  // As Flush, if a flush is due; of several threads that try, one does it.
  void FireIfDue(Now now) {
    Change([now](std::uint64_t word) {
      const std::uint64_t due_s = word >> 32U;
      return due_s != 0 && now.steady_s >= due_s ? (word + 1) & UINT32_MAX : word;
    });
  }

 private:
  template <typename Next>
  void Change(Next next) {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while (!word_.compare_exchange_weak(word, next(word), std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
    }
  }

  std::atomic<std::uint64_t> word_{0};
};

}  // namespace cache
