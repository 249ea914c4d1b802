#include "server/cache/epochs.h"

#include <sched.h>

#include <algorithm>

namespace cache {

Epochs::Epochs(std::uint32_t thread_count)
    : thread_count_(thread_count), lines_(std::make_unique<Line[]>(thread_count)) {}

// Either SafeEpoch sees the published epoch, or the load that follows it sees the new current_ and
// with it every removal that was stamped before: hence the sequentially consistent order of both.
void Epochs::Enter(std::uint32_t thread) {
  std::atomic<std::uint64_t>& published = lines_[thread].published;
  for (;;) {
    std::uint64_t expected = kOffline;
    const std::uint64_t epoch = current_.load(std::memory_order_seq_cst);
    if (published.compare_exchange_strong(expected, epoch, std::memory_order_seq_cst)) break;
    sched_yield();
  }
  published.store(current_.load(std::memory_order_seq_cst), std::memory_order_seq_cst);
}

bool Epochs::TryBorrow(std::uint32_t thread) {
  std::uint64_t expected = kOffline;
  std::atomic<std::uint64_t>& published = lines_[thread].published;
  return published.load(std::memory_order_relaxed) == kOffline &&
         published.compare_exchange_strong(expected, kBorrowed, std::memory_order_acq_rel);
}

std::uint64_t Epochs::SafeEpoch() const {
  std::uint64_t safe = current_.load(std::memory_order_seq_cst);
  for (std::uint32_t thread = 0; thread < thread_count_; ++thread) {
    const std::uint64_t published = lines_[thread].published.load(std::memory_order_seq_cst);
    if (published < kBorrowed) safe = std::min(safe, published);
  }
  return safe;
}

}  // namespace cache
