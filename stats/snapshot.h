// Snapshot: the sum of all blocks at one moment, as plain numbers.
//
// A fold adds up every block's counters, each read once. While threads work, two counters of one
// fold may be apart by the commands under way; when they rest, every sum is exact. `stats reset`
// does not touch the blocks: it remembers a snapshot, which Since() takes off later ones.
//
// Owner: whoever folds. Threads: a snapshot is a value; Add may run while the blocks are written.
#pragma once

#include <array>
#include <cstdint>

#include "stats/block.h"

namespace stats {

struct ClassSnapshot {
#define STATS_CLASS_COUNTER(name) std::uint64_t name = 0;
#include "stats/counters.def"
};

struct Snapshot {
#define STATS_COUNTER(name) std::uint64_t name = 0;
#define STATS_GAUGE(name) std::int64_t name = 0;
#define STATS_CLASS_COUNTER(name) std::uint64_t name = 0;  // Summed over the classes.
#include "stats/counters.def"
  std::array<ClassSnapshot, kClassCountMax> classes{};

  // Adds one thread's block.
  void Add(const Block& block);
  // What has been counted since `baseline`; gauges stay as they are.
  [[nodiscard]] Snapshot Since(const Snapshot& baseline) const;
};

}  // namespace stats
