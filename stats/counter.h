// Counter and Gauge: numbers that one thread writes and any thread reads.
//
// Adding is a relaxed load, an addition and a relaxed store: no lock prefix, no shared line. That
// is right because each has a single writer; a reader sees some recent value, never a torn one.
//
// Owner: the Block they lie in. Threads: Add from the block's thread only; Get from any.
#pragma once

#include <atomic>
#include <cstdint>

namespace stats {

// Only ever grows.
class Counter {
 public:
  void Add(std::uint64_t amount = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  // Mirrors a number that its thread keeps elsewhere.
  void Set(std::uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t Get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// This thread's share of a quantity: it may be negative (an item made here, freed there); the sum
// over all threads is the quantity.
class Gauge {
 public:
  void Add(std::int64_t amount) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  [[nodiscard]] std::int64_t Get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

}  // namespace stats
