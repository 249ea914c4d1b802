// Block: everything one thread counts, on cache lines of its own.
//
// The fields are made from counters.def. A block is written by its thread alone and read by whoever
// folds (Snapshot::Add); counting costs no lock, no shared line and no sum on the request path.
//
// Owner: the worker. Threads: written by one, read by any.
#pragma once

#include <array>
#include <cstddef>

#include "stats/counter.h"

namespace stats {

// Size classes are numbered from 1; row 0 counts what has no class yet.
inline constexpr std::size_t kClassCountMax = 256;
inline constexpr std::size_t kCacheLineBytes = 64;

struct alignas(kCacheLineBytes) ClassBlock {
#define STATS_CLASS_COUNTER(name) Counter name;
#include "stats/counters.def"
};

struct alignas(kCacheLineBytes) Block {
#define STATS_COUNTER(name) Counter name;
#define STATS_GAUGE(name) Gauge name;
#include "stats/counters.def"
  std::array<ClassBlock, kClassCountMax> classes;
};

static_assert(sizeof(Counter) == 8);
static_assert(alignof(Block) == kCacheLineBytes && sizeof(Block) % kCacheLineBytes == 0);

}  // namespace stats
