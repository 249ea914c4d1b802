// Which items stay when memory is full: newcomers, residents and ghosts.
#include <atomic>
#include <memory>
#include <random>
#include <string>

#include "server/cache/ghost_table.h"
#include "server/cache/newcomers.h"
#include "test/cache/fixture.h"

namespace cache {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

// A full cache of some 15000 items that nobody has read.
struct FullCache : OneCache {
  FullCache() : OneCache({.memory_bytes = 2 * kMegabyte}) { Scan(20000); }

  // All items are of one size, so of one class.
  void Put(const std::string& key) {
    REQUIRE(Set(key, std::string(120 - key.size(), 'v')) == StoreResult::kStored);
    cache().Quiesce();
  }
  // So many new keys, each stored once.
  void Scan(int count) {
    for (int n = 0; n < count; ++n) Put("scan" + std::to_string(scanned_count++));
  }
  bool Has(const std::string& key) { return Find(key) != nullptr; }
  void Read(const std::string& key) { REQUIRE(Get(key).has_value()); }

  int scanned_count = 0;
};

TEST_CASE("a scan does not flush what has been read") {
  FullCache full;
  constexpr int kHot = 5000;
  for (int n = 0; n < kHot; ++n) {
    full.Put("hot" + std::to_string(n));
    full.Read("hot" + std::to_string(n));
  }
  full.Scan(100000);
  int kept_count = 0;
  for (int n = 0; n < kHot; ++n) kept_count += full.Has("hot" + std::to_string(n)) ? 1 : 0;
  CHECK(kept_count > kHot * 98 / 100);
}

TEST_CASE("a newcomer stays if it has been read, else it makes room") {
  FullCache full;
  full.Put("read");
  full.Put("unread");
  full.Read("read");
  full.Scan(20000);
  CHECK(full.Has("read"));
  CHECK_FALSE(full.Has("unread"));
}

TEST_CASE("a key that comes back soon after it left is a resident at once") {
  FullCache full;
  full.Put("back");
  full.Scan(6000);
  REQUIRE_FALSE(full.Has("back"));
  full.Put("back");
  full.Put("other");
  full.Scan(20000);
  CHECK(full.Has("back"));
  CHECK_FALSE(full.Has("other"));
}

TEST_CASE("a key that comes back long after it left is a newcomer again") {
  FullCache full;
  full.Put("back");
  full.Scan(100000);
  full.Put("back");
  full.Scan(20000);
  CHECK_FALSE(full.Has("back"));
}

TEST_CASE("an item that replaces another is known as well as that was") {
  FullCache full;
  full.Put("hot");
  full.Read("hot");
  full.Put("hot");
  full.Put("cold");
  full.Put("cold");
  full.Scan(20000);
  CHECK(full.Has("hot"));
  CHECK_FALSE(full.Has("cold"));
}

TEST_CASE("residents that are no longer read make room for those that are") {
  FullCache full;
  constexpr int kItems = 9000;
  const auto read_or_put = [&full](const std::string& prefix, int rounds) {
    int hit_count = 0;
    for (int n = 0; n < rounds * kItems; ++n) {
      const std::string key = prefix + std::to_string(n % kItems);
      if (full.Get(key).has_value()) {
        ++hit_count;
      } else {
        full.Put(key);
      }
    }
    return hit_count;
  };
  read_or_put("old", 10);
  read_or_put("new", 30);
  CHECK(read_or_put("new", 1) > kItems * 95 / 100);
}

TEST_CASE("a key that is only overwritten does not push out the others' newcomers for ever") {
  FullCache full;
  for (int n = 0; n < 100000; ++n) full.Put("counter" + std::to_string(n % 3));
  CHECK(full.block().curr_items.Get() > 10000);
  for (int n = 0; n < 3; ++n) CHECK(full.Has("counter" + std::to_string(n)));
}

TEST_CASE("sixteen threads in little memory store every item of any size") {
  constexpr std::uint32_t kThreads = 16;
  const std::uint64_t seed = PrintedSeed();
  SharedFixture many({.memory_bytes = 8 * kMegabyte, .thread_count = kThreads});
  std::atomic<int> refused_count{0};
  OnThreads(kThreads, [&](std::uint32_t thread) {
    std::mt19937_64 random(seed + thread);
    Cache& cache = many[thread];
    for (int turn = 0; turn < 100; ++turn) {
      cache.GoOnline({});
      for (int n = 0; n < 20; ++n) {
        const std::string key = "k" + std::to_string(random() % 100000);
        const std::string value(random() % 1500, 'v');
        Draft draft;
        if (cache.Begin(cache.Hash(key), 0, Expiry::Never(), value.size(), &draft) != Room::kOk ||
            !draft.Append(value) || cache.Store(&draft, {}).result != StoreResult::kStored) {
          ++refused_count;
        }
      }
      cache.Maintain();
      cache.GoOffline();
    }
  });
  CHECK(refused_count == 0);
  CHECK(many.Fold()->outofmemory == 0);
  CHECK(many.Fold()->evictions > 0);
  many.CheckAtRest();
}

std::unique_ptr<GhostTable> MakeGhosts(std::size_t key_count) {
  std::string error;
  auto ghosts = GhostTable::Reserve(key_count, &error);
  REQUIRE_MESSAGE(ghosts != nullptr, error);
  return ghosts;
}

TEST_CASE("a ghost is taken once") {
  const auto ghosts = MakeGhosts(1000);
  CHECK_FALSE(ghosts->Take(0x1234567890abcdef));
  ghosts->Add(0x1234567890abcdef);
  CHECK_FALSE(ghosts->Take(0x1234567890abcdee));
  CHECK(ghosts->Take(0x1234567890abcdef));
  CHECK_FALSE(ghosts->Take(0x1234567890abcdef));
}

TEST_CASE("a line of ghosts forgets its oldest, and knows fingerprints like its own counter") {
  const auto ghosts = MakeGhosts(1);
  for (std::uint64_t hash = 0; hash < 40; ++hash) ghosts->Add(hash);
  for (std::uint64_t hash = 0; hash < 9; ++hash) CHECK_FALSE(ghosts->Take(hash));
  for (std::uint64_t hash = 9; hash < 40; ++hash) CHECK(ghosts->Take(hash));
}

TEST_CASE("ghosts remember about as many keys as they are fitted to") {
  constexpr std::size_t kKeys = 31000;
  const auto ghosts = MakeGhosts(kKeys * 4);
  ghosts->Fit(kKeys);
  CHECK(ghosts->line_count() == kKeys / GhostTable::kKeysPerLine);
  ghosts->Fit(kKeys + kKeys / 5);
  CHECK(ghosts->line_count() == kKeys / GhostTable::kKeysPerLine);
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> hashes(kKeys * 3);
  for (std::uint64_t& hash : hashes) ghosts->Add(hash = random());
  std::size_t early_count = 0;
  std::size_t late_count = 0;
  for (std::size_t at = 0; at < kKeys; ++at) {
    early_count += ghosts->Take(hashes[at]) ? 1U : 0U;
    late_count += at < kKeys / 2 && ghosts->Take(hashes[hashes.size() - 1 - at]) ? 1U : 0U;
  }
  CHECK(early_count < kKeys / 100);
  CHECK(late_count > kKeys / 2 * 98 / 100);
  ghosts->Fit(1);
  CHECK(ghosts->line_count() == 1);
  ghosts->Fit(kKeys * 100);
  CHECK(ghosts->line_count() == kKeys * 4 / GhostTable::kKeysPerLine + 1);
}

TEST_CASE("newcomers come out in their order, however many there are") {
  Newcomers newcomers;
  std::vector<char> slots(1000);
  std::size_t added = 0;
  std::size_t taken = 0;
  for (int round = 0; round < 300; ++round) {
    for (int n = 0; n < 3; ++n) newcomers.Add(&slots[added++]);
    for (int n = 0; n < 2; ++n) REQUIRE(newcomers.Take() == &slots[taken++]);
    REQUIRE(newcomers.count() == added - taken);
  }
}

}  // namespace
}  // namespace cache
