// What happens when memory is full.
#include <random>
#include <string>

#include "test/cache/fixture.h"

namespace cache {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

// Stores items of `bytes` until one is refused or `count` are in. Returns how many are.
int FillOn(Cache* cache, const std::string& prefix, std::size_t bytes, int count) {
  cache->GoOnline({});
  int stored_count = 0;
  for (; stored_count < count; ++stored_count) {
    Draft draft;
    const std::string key = prefix + std::to_string(stored_count);
    if (cache->Begin(cache->Hash(key), 0, Expiry::Never(), bytes, &draft) != Room::kOk) break;
    REQUIRE(draft.Append(std::string(bytes, 'v')));
    REQUIRE(cache->Store(&draft, {}).result == StoreResult::kStored);
    cache->Quiesce();
  }
  cache->GoOffline();
  return stored_count;
}

TEST_CASE("a full cache evicts and never refuses a set of any size") {
  OneCache one({.memory_bytes = 4 * kMegabyte});
  std::mt19937_64 random(PrintedSeed());
  for (int n = 0; n < 30000; ++n) {
    const std::size_t bytes = n % 500 == 0 ? random() % 1000000 : random() % 2000;
    const std::string key = "k" + std::to_string(n);
    REQUIRE(one.Set(key, std::string(bytes, 'v')) == StoreResult::kStored);
    REQUIRE(one.Find(key) != nullptr);
    if (n % 8 == 0) one.cache().Quiesce();
  }
  CHECK(one.Fold()->evictions > 0);
  CHECK(one.block().bytes.Get() <= static_cast<std::int64_t>(4 * kMegabyte));
}

TEST_CASE("a full cache uses most of its memory for items, of one size or of many") {
  for (const std::size_t spread : {1UL, 2000UL}) {
    OneCache one({.memory_bytes = 16 * kMegabyte});
    std::mt19937_64 random(PrintedSeed());
    for (int n = 0; n < 60000; ++n) {
      const std::string key = "k" + std::to_string(100000 + n);
      const std::string value(500 + random() % spread, 'v');
      REQUIRE(one.Set(key, value) == StoreResult::kStored);
      if (n % 8 == 0) one.cache().Quiesce();
    }
    const auto stored_mb = static_cast<std::size_t>(one.block().bytes.Get()) * 16 / kMegabyte;
    CHECK(stored_mb > (spread == 1 ? 16 * 15U : 16 * 11U));
  }
}

TEST_CASE("items that are read stay longer than those that are not") {
  OneCache one({.memory_bytes = 2 * kMegabyte});
  int hot_hits = 0;
  for (int n = 0; n < 50000; ++n) {
    const std::string hot = "hot" + std::to_string(n % 100);
    if (one.Get(hot).has_value()) {
      ++hot_hits;
    } else {
      one.Set(hot, std::string(100, 'h'));
    }
    one.Set("cold" + std::to_string(n), std::string(100, 'c'));
    one.cache().Quiesce();
  }
  CHECK(hot_hits > 49000);
}

TEST_CASE("evictions are counted by class and by what they hit") {
  OneCache one({.memory_bytes = 2 * kMegabyte});
  for (int n = 0; n < 40000; ++n) {
    const Expiry expiry = n % 2 == 0 ? Expiry::Never() : Expiry::AtSteady(one.now.steady_s + 1000);
    one.Store("k" + std::to_string(n), std::string(100, 'v'), {}, 0, expiry);
    one.cache().Quiesce();
  }
  const auto stats = one.Fold();
  const std::uint8_t class_id = one.cache().ClassOf(one.Find("k39999"));
  CHECK(stats->evictions == 40000 - static_cast<std::uint64_t>(stats->curr_items));
  CHECK(stats->classes[class_id].evictions > stats->evictions / 2);
  CHECK(stats->evicted_unfetched == stats->evictions);
  CHECK(stats->evicted_nonzero > stats->evictions / 3);
}

TEST_CASE("dead items that are met on the way are reclaimed, not evicted") {
  OneCache one({.memory_bytes = 2 * kMegabyte});
  for (int n = 0; n < 3000; ++n) {
    one.Store("d" + std::to_string(1000 + n), std::string(200, 'd'), {}, 0,
              Expiry::AtSteady(one.now.steady_s + 5));
  }
  one.PassSeconds(10);
  for (int n = 0; n < 9000; ++n) {
    const std::string key = "k" + std::to_string(1000 + n);
    REQUIRE(one.Set(key, std::string(200, 'v')) == StoreResult::kStored);
    one.cache().Quiesce();
  }
  const auto stats = one.Fold();
  const auto left_count = static_cast<std::uint64_t>(12000 - stats->curr_items);
  CHECK(stats->reclaimed > 500);
  CHECK(stats->reclaimed + stats->evictions == left_count);
  CHECK(stats->expired_unfetched == stats->reclaimed);
}

TEST_CASE("without eviction a full cache refuses and keeps what it has") {
  OneCache one({.memory_bytes = 2 * kMegabyte, .evicts = false});
  int stored_count = 0;
  while (one.Set("k" + std::to_string(stored_count), std::string(500, 'v')) ==
         StoreResult::kStored) {
    ++stored_count;
    REQUIRE(stored_count < 10000);
  }
  CHECK(stored_count > 3000);
  for (int n = 0; n < stored_count; ++n) CHECK(one.Find("k" + std::to_string(n)) != nullptr);
  CHECK(one.Fold()->evictions == 0);
  CHECK(one.Fold()->outofmemory > 0);
  one.Delete("k0");
  CHECK(one.Set("again", std::string(500, 'v')) == StoreResult::kStored);
  CHECK(one.Set("more", std::string(500, 'v')) == StoreResult::kNoMemory);
}

TEST_CASE("without eviction room is made of what is dead") {
  OneCache one({.memory_bytes = 2 * kMegabyte, .evicts = false});
  int stored_count = 0;
  while (one.Set("k" + std::to_string(stored_count), std::string(500, 'v')) ==
         StoreResult::kStored) {
    ++stored_count;
  }
  one.cache().FlushAll(0);
  for (int n = 0; n < stored_count; ++n) {
    REQUIRE(one.Set("n" + std::to_string(n), std::string(500, 'v')) == StoreResult::kStored);
    one.cache().Quiesce();
  }
}

TEST_CASE("a cache full of one size takes another") {
  OneCache one({.memory_bytes = 2 * kMegabyte});
  for (const std::size_t bytes : {10UL, 1000UL, 50000UL, 600000UL, 100UL, 5000UL}) {
    for (int n = 0; n < 5000; ++n) {
      if (bytes > 10000 && n > 100) break;
      REQUIRE(one.Set("k" + std::to_string(n), std::string(bytes, 'v')) == StoreResult::kStored);
      one.cache().Quiesce();
    }
  }
}

TEST_CASE("open drafts in every page leave room for others, up to the last") {
  OneCache one({.memory_bytes = 1 * kMegabyte, .item_bytes_max = 256 << 10});
  std::vector<Draft> drafts;
  std::size_t refused_count = 0;
  for (int n = 0; n < 400; ++n) {
    drafts.emplace_back();
    const std::string key = "d" + std::to_string(n);
    if (one.cache().Begin(one.cache().Hash(key), 0, Expiry::Never(), 2000, &drafts.back()) !=
        Room::kOk) {
      ++refused_count;
      break;
    }
  }
  CHECK(refused_count == 0);
  for (int n = 0; n < 2000; ++n) {
    REQUIRE(one.Set("k" + std::to_string(n), std::string(100, 'v')) == StoreResult::kStored);
  }
  drafts.clear();
}

TEST_CASE("a thread that finds all memory with sleepers takes pages from them") {
  SharedFixture many({.memory_bytes = 4 * kMegabyte, .thread_count = 4});
  const auto fill = [](Cache* cache, const std::string& prefix, int count) {
    CHECK(FillOn(cache, prefix, 500, count) == count);
  };
  fill(&many[0], "a", 10000);
  for (std::size_t thread = 1; thread < 4; ++thread) fill(&many[thread], "b", 2000);
  fill(&many[1], "c", 100);
  many.CheckAtRest();
}

TEST_CASE("without eviction a thread uses the free slots that others hold") {
  SharedFixture many({.memory_bytes = 2 * kMegabyte, .thread_count = 4, .evicts = false});
  const int filled_count = FillOn(&many[0], "a", 500, 100000);
  CHECK(filled_count > 3000);
  CHECK(FillOn(&many[1], "b", 500, 1) == 0);
  many[0].GoOnline({});
  for (int n = 0; n < 7; ++n) {
    const std::string key = "a" + std::to_string(n * 100);
    CHECK(many[0].Delete(many[0].Hash(key), 0).result == DeleteResult::kDeleted);
  }
  many[0].GoOffline();
  CHECK(FillOn(&many[1], "c", 500, 3) == 3);
  CHECK(FillOn(&many[2], "d", 500, 100) == 4);
  CHECK(FillOn(&many[0], "e", 500, 1) == 0);
  CHECK(many.Fold()->curr_items == filled_count);
  CHECK(many.Fold()->evictions == 0);
  many.CheckAtRest();
}

}  // namespace
}  // namespace cache
