#include "stats/snapshot.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using stats::Block;
using stats::Snapshot;

// Adds to every counter and gauge of a block a number of its own.
void CountDistinctly(Block* block, std::uint64_t factor) {
  std::uint64_t number = 0;
#define STATS_COUNTER(name) block->name.Add(factor * ++number);
#define STATS_GAUGE(name) block->name.Add(-static_cast<std::int64_t>(factor * ++number));
#include "stats/counters.def"
  for (stats::ClassBlock& row : block->classes) {
#define STATS_CLASS_COUNTER(name) row.name.Add(factor * ++number);
#include "stats/counters.def"
  }
}

// Checks that the sums of a snapshot are those of its classes.
void CheckSums(const Snapshot& snapshot) {
  Snapshot sums;
  for (const stats::ClassSnapshot& row : snapshot.classes) {
#define STATS_CLASS_COUNTER(name) sums.name += row.name;
#include "stats/counters.def"
  }
#define STATS_CLASS_COUNTER(name) CHECK_MESSAGE(snapshot.name == sums.name, #name);
#include "stats/counters.def"
}

// Checks that a snapshot holds `factor` times what CountDistinctly(block, 1) counts.
void CheckDistinct(const Snapshot& snapshot, std::uint64_t factor, std::uint64_t gauge_factor) {
  std::uint64_t number = 0;
#define STATS_COUNTER(name) CHECK_MESSAGE(snapshot.name == factor * ++number, #name);
#define STATS_GAUGE(name) \
  CHECK_MESSAGE(snapshot.name == -static_cast<std::int64_t>(gauge_factor * ++number), #name);
#include "stats/counters.def"
  for (const stats::ClassSnapshot& row : snapshot.classes) {
#define STATS_CLASS_COUNTER(name) CHECK(row.name == factor * ++number);
#include "stats/counters.def"
  }
  CheckSums(snapshot);
}

TEST_CASE("a new block has counted nothing") {
  const auto block = std::make_unique<Block>();
  const auto snapshot = std::make_unique<Snapshot>();
  snapshot->Add(*block);
  CheckDistinct(*snapshot, 0, 0);
}

TEST_CASE("a counter adds one unless told how many") {
  Block block;
  block.cmd_touch.Add();
  block.cmd_touch.Add();
  block.bytes_read.Add(1000);
  CHECK(block.cmd_touch.Get() == 2);
  CHECK(block.bytes_read.Get() == 1000);
}

TEST_CASE("a gauge rises and falls below zero") {
  Block block;
  block.curr_items.Add(5);
  block.curr_items.Add(-7);
  CHECK(block.curr_items.Get() == -2);
}

TEST_CASE("a snapshot holds every counter and gauge of a block under its own name") {
  const auto block = std::make_unique<Block>();
  CountDistinctly(block.get(), 1);
  const auto snapshot = std::make_unique<Snapshot>();
  snapshot->Add(*block);
  CheckDistinct(*snapshot, 1, 1);
}

TEST_CASE("a snapshot sums what all blocks have counted") {
  const auto blocks = std::make_unique<std::array<Block, 3>>();
  const auto snapshot = std::make_unique<Snapshot>();
  std::uint64_t factor = 1;
  for (Block& block : *blocks) {
    CountDistinctly(&block, factor);
    snapshot->Add(block);
    factor *= 10;
  }
  CheckDistinct(*snapshot, 111, 111);
}

TEST_CASE("a gauge may be negative in one block and the sum still right") {
  Block mine;
  Block yours;
  mine.curr_items.Add(10);
  yours.curr_items.Add(-4);
  Snapshot snapshot;
  snapshot.Add(mine);
  snapshot.Add(yours);
  CHECK(snapshot.curr_items == 6);
}

TEST_CASE("what has been counted since a baseline leaves gauges as they are") {
  const auto block = std::make_unique<Block>();
  CountDistinctly(block.get(), 1);
  const auto baseline = std::make_unique<Snapshot>();
  baseline->Add(*block);
  CountDistinctly(block.get(), 4);
  const auto now = std::make_unique<Snapshot>();
  now->Add(*block);
  CheckDistinct(now->Since(*baseline), 4, 5);
  CheckDistinct(now->Since(*now), 0, 5);
  CheckDistinct(now->Since(Snapshot{}), 5, 5);
}

TEST_CASE("every name is listed once") {
  std::vector<std::string_view> names;
#define STATS_COUNTER(name) names.push_back(#name);
#define STATS_GAUGE(name) names.push_back(#name);
#define STATS_CLASS_COUNTER(name) names.push_back(#name);
#include "stats/counters.def"
  CHECK(names.size() > 50);
  for (const std::string_view name : names) CHECK(std::ranges::count(names, name) == 1);
}

TEST_CASE("blocks of different threads share no cache line") {
  CHECK(alignof(Block) == stats::kCacheLineBytes);
  CHECK(sizeof(Block) % stats::kCacheLineBytes == 0);
  CHECK(sizeof(stats::ClassBlock) % stats::kCacheLineBytes == 0);
  CHECK(offsetof(Block, classes) % stats::kCacheLineBytes == 0);
  const auto blocks = std::make_unique<std::array<Block, 2>>();
  for (const Block& block : *blocks) {
    CHECK(reinterpret_cast<std::uintptr_t>(&block) % stats::kCacheLineBytes == 0);
  }
}

TEST_CASE("a fold while threads count never goes back and is exact when they rest") {
  constexpr std::uint64_t kRounds = 50'000;
  constexpr std::size_t kThreadCount = 3;
  const auto blocks = std::make_unique<std::array<Block, kThreadCount>>();
  std::atomic<std::size_t> running_count = kThreadCount;
  std::vector<std::thread> threads;
  for (Block& block : *blocks) {
    threads.emplace_back([&block, &running_count] {
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        block.get_misses.Add();
        block.bytes_read.Add(100);
        block.classes[round % stats::kClassCountMax].get_hits.Add();
        block.curr_connections.Add(round % 2 == 0 ? 1 : -1);
      }
      running_count.fetch_sub(1);
    });
  }
  const auto last = std::make_unique<Snapshot>();
  bool goes_back = false;
  while (running_count.load() != 0) {
    const auto now = std::make_unique<Snapshot>();
    for (const Block& block : *blocks) now->Add(block);
    goes_back = goes_back || now->get_misses < last->get_misses || now->get_hits < last->get_hits ||
                now->bytes_read < last->bytes_read;
    *last = *now;
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(goes_back);
  const auto rest = std::make_unique<Snapshot>();
  for (const Block& block : *blocks) rest->Add(block);
  CHECK(rest->get_misses == kThreadCount * kRounds);
  CHECK(rest->bytes_read == kThreadCount * kRounds * 100);
  CHECK(rest->get_hits == kThreadCount * kRounds);
  CHECK(rest->curr_connections == 0);
}

}  // namespace
