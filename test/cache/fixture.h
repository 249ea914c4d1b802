// What the tests of the cache share: a SharedCache with its Caches, and short forms of common
// calls.
//
// Owner: a test. Threads: SharedFixture's making and end on one thread; each Cache on its own.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "server/cache/cache.h"
#include "stats/snapshot.h"

namespace cache {

inline std::uint64_t PrintedSeed() {
  const std::uint64_t seed = std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

struct SharedFixture {
  explicit SharedFixture(const Options& options) {
    std::string error;
    shared = SharedCache::Create(options, &error);
    REQUIRE_MESSAGE(shared != nullptr, error);
    for (std::uint32_t thread = 0; thread < options.thread_count; ++thread) {
      blocks.push_back(std::make_unique<stats::Block>());
      caches.push_back(std::make_unique<Cache>(shared.get(), thread, blocks.back().get()));
    }
  }
  Cache& operator[](std::size_t thread) { return *caches[thread]; }

  [[nodiscard]] std::unique_ptr<stats::Snapshot> Fold() const {
    auto snapshot = std::make_unique<stats::Snapshot>();
    for (const auto& block : blocks) snapshot->Add(*block);
    return snapshot;
  }
  // With all Caches off-line.
  void CheckAtRest() const {
    std::size_t item_count = 0;
    CHECK(shared->Validate(&item_count) == "");
    CHECK(static_cast<std::int64_t>(item_count) == Fold()->curr_items);
  }

  std::unique_ptr<SharedCache> shared;
  std::vector<std::unique_ptr<stats::Block>> blocks;
  std::vector<std::unique_ptr<Cache>> caches;
};

// One Cache, on-line, and its verbs as a client sees them.
struct OneCache : SharedFixture {
  explicit OneCache(Options options = {}) : SharedFixture(options) { cache().GoOnline(now); }
  ~OneCache() {
    cache().GoOffline();
    CheckAtRest();
  }
  OneCache(const OneCache&) = delete;
  OneCache& operator=(const OneCache&) = delete;

  Cache& cache() { return *caches[0]; }
  stats::Block& block() { return *blocks[0]; }
  void PassSeconds(std::uint32_t seconds) {
    cache().GoOffline();
    now.steady_s += seconds;
    now.wall_s += seconds;
    cache().GoOnline(now);
  }

  Stored Store(std::string_view key, std::string_view value, const StoreRule& rule = {},
               std::uint32_t flags = 0, Expiry expiry = Expiry::Never()) {
    Draft draft;
    const Room room = cache().Begin(cache().Hash(key), flags, expiry, value.size(), &draft);
    if (room == Room::kTooLarge) return {.result = StoreResult::kTooLarge};
    if (room == Room::kNoMemory) return {.result = StoreResult::kNoMemory};
    if (!draft.Append(value)) return {.result = StoreResult::kNoMemory};
    return cache().Store(&draft, rule);
  }
  StoreResult Set(std::string_view key, std::string_view value) { return Store(key, value).result; }
  Item* Find(std::string_view key) { return cache().Find(cache().Hash(key)); }
  std::optional<std::string> Get(std::string_view key) {
    Item* item = Find(key);
    if (item == nullptr) return std::nullopt;
    cache().MarkAccess(item);
    return ValueOf(item);
  }
  std::string ValueOf(const Item* item) {
    std::string value;
    cache().ForEachPiece(item, [&value](std::string_view piece) { value += piece; });
    return value;
  }
  Delta Add(std::string_view key, const DeltaRule& rule) {
    return cache().Add(cache().Hash(key), rule);
  }
  DeleteResult Delete(std::string_view key, std::uint64_t compare_cas = 0) {
    return cache().Delete(cache().Hash(key), compare_cas).result;
  }

  Now now{};
};

// Runs body(thread) on so many threads and waits for them.
template <typename Body>
void OnThreads(std::uint32_t count, Body body) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (std::uint32_t thread = 0; thread < count; ++thread) threads.emplace_back(body, thread);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace cache
