// Many threads on one key space, with more threads than processors and little memory.
#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <string>
#include <vector>

#include "test/cache/fixture.h"

namespace cache {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

// A value that says whose it is and can be checked: "key/version/" and then bytes made from both.
std::string MakeValue(int key, std::uint64_t version, std::size_t bytes) {
  std::string value = std::to_string(key) + "/" + std::to_string(version) + "/";
  const char filler = static_cast<char>('a' + (static_cast<std::uint64_t>(key) + version) % 26);
  value.resize(std::max(value.size(), bytes), filler);
  return value;
}

bool IsValue(const std::string& value, int key) {
  const std::size_t first = value.find('/');
  const std::size_t second = value.find('/', first + 1);
  if (second == std::string::npos || value.substr(0, first) != std::to_string(key)) return false;
  const std::uint64_t version = std::stoull(value.substr(first + 1, second - first - 1));
  return value == MakeValue(key, version, value.size());
}

class Worker {
 public:
  Worker(Cache* cache, std::uint32_t thread, std::uint64_t seed, std::size_t bytes_max)
      : cache_(cache), thread_(thread), random_(seed + thread), bytes_max_(bytes_max) {}

  void Turn(int commands, Now now) {
    cache_->GoOnline(now);
    for (int n = 0; n < commands; ++n) Command(static_cast<int>(random_() % kKeys));
    cache_->Maintain();
    cache_->Quiesce();
    cache_->GoOffline();
  }

  static constexpr int kKeys = 500;
  int wrong_value_count = 0;
  int refused_count = 0;

 private:
  void Command(int number) {
    const std::string key = "key" + std::to_string(number);
    const HashedKey hashed = cache_->Hash(key);
    const std::uint64_t dice = random_() % 100;
    if (dice < 50) return Read(number, hashed);
    if (dice < 85) return Write(number, hashed, StoreMode::kSet);
    if (dice < 90) return Write(number, hashed, StoreMode::kAdd);
    if (dice < 95) {
      cache_->Delete(hashed, 0);
    } else if (dice == 95 && random_() % 200 == 0) {
      cache_->FlushAll(0);
    }
  }

  void Read(int number, const HashedKey& hashed) {
    Item* item = cache_->Find(hashed);
    if (item == nullptr) return;
    cache_->MarkAccess(item);
    std::string value;
    cache_->ForEachPiece(item, [&value](std::string_view piece) { value += piece; });
    if (!IsValue(value, number)) ++wrong_value_count;
  }

  void Write(int number, const HashedKey& hashed, StoreMode mode) {
    const std::size_t bytes = random_() % 50 == 0 ? random_() % bytes_max_ : random_() % 300;
    const std::string value = MakeValue(number, ++version_ * 100 + thread_, bytes);
    Draft draft;
    if (cache_->Begin(hashed, 0, Expiry::Never(), value.size(), &draft) != Room::kOk ||
        !draft.Append(value)) {
      ++refused_count;
      return;
    }
    if (random_() % 20 == 0) return;  // The client has gone.
    cache_->Store(&draft, {.mode = mode});
  }

  Cache* cache_;
  std::uint32_t thread_;
  std::mt19937_64 random_;
  std::size_t bytes_max_;
  std::uint64_t version_ = 0;
};

void RunWorkers(const Options& options, std::size_t bytes_max, int turns) {
  const std::uint64_t seed = PrintedSeed();
  SharedFixture many(options);
  std::vector<std::unique_ptr<Worker>> workers;
  workers.reserve(options.thread_count);
  for (std::uint32_t thread = 0; thread < options.thread_count; ++thread) {
    workers.push_back(std::make_unique<Worker>(&many[thread], thread, seed, bytes_max));
  }
  OnThreads(options.thread_count, [&](std::uint32_t thread) {
    Now now;
    for (int turn = 0; turn < turns; ++turn) {
      now.steady_s += turn % 50 == 0 ? 1U : 0U;
      workers[thread]->Turn(20, now);
      if (thread == 0 && turn % 20 == 0) {
        many.shared->Reassign(-1, static_cast<int>(seed + static_cast<unsigned>(turn)) & 31);
      }
    }
  });
  for (const auto& worker : workers) {
    CHECK(worker->wrong_value_count == 0);
    CHECK(worker->refused_count == 0);
  }
  many.CheckAtRest();
}

TEST_CASE("eight threads read only whole values of the right key, in little memory") {
  RunWorkers({.memory_bytes = 4 * kMegabyte, .thread_count = 8, .item_bytes_max = 64 << 10}, 20000,
             500);
}

TEST_CASE("sixteen threads on one megabyte neither lock up nor lose memory") {
  RunWorkers({.memory_bytes = 1 * kMegabyte, .thread_count = 16, .item_bytes_max = 16 << 10}, 2000,
             150);
}

TEST_CASE("four threads with chains of megabytes") {
  RunWorkers({.memory_bytes = 64 * kMegabyte, .thread_count = 4}, 1000000, 100);
}

TEST_CASE("ids of a key only rise, and every change has its own") {
  constexpr std::uint32_t kThreads = 4;
  constexpr std::size_t kKeys = 10;
  constexpr int kSets = 3000;
  SharedFixture many({.memory_bytes = 16 * kMegabyte, .thread_count = kThreads});
  std::array<std::vector<std::uint64_t>, kThreads> given;
  std::atomic<int> falling_count{0};
  OnThreads(kThreads, [&](std::uint32_t thread) {
    Cache& cache = many[thread];
    std::array<std::uint64_t, kKeys> seen{};
    for (std::size_t n = 0; n < kSets; ++n) {
      cache.GoOnline({});
      const std::string text = "k" + std::to_string(n % kKeys);
      const HashedKey key = cache.Hash(text);
      if (n % 3 != thread % 3) {
        Draft draft;
        REQUIRE(cache.Begin(key, 0, Expiry::Never(), 0, &draft) == Room::kOk);
        const Stored stored = cache.Store(&draft, {});
        given[thread].push_back(stored.cas);
        if (stored.cas <= seen[n % kKeys]) ++falling_count;
        seen[n % kKeys] = stored.cas;
      } else if (const Item* item = cache.Find(key)) {
        if (item->cas() < seen[n % kKeys]) ++falling_count;
        seen[n % kKeys] = item->cas();
      }
      cache.GoOffline();
    }
  });
  CHECK(falling_count == 0);
  std::vector<std::uint64_t> all;
  for (const auto& ids : given) all.insert(all.end(), ids.begin(), ids.end());
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
}

TEST_CASE("no count is lost when many threads count one key") {
  constexpr std::uint32_t kThreads = 4;
  constexpr int kCounts = 5000;
  SharedFixture many({.memory_bytes = 8 * kMegabyte, .thread_count = kThreads});
  std::atomic<int> bad_count{0};
  OnThreads(kThreads, [&](std::uint32_t thread) {
    Cache& cache = many[thread];
    std::uint64_t last_cas = 0;
    for (int n = 0; n < kCounts; ++n) {
      cache.GoOnline({});
      const Delta delta = cache.Add(cache.Hash("n"), {.creates = true, .initial = 1});
      if (delta.result != DeltaResult::kOk || delta.cas <= last_cas) ++bad_count;
      last_cas = delta.cas;
      cache.GoOffline();
    }
  });
  CHECK(bad_count == 0);
  many[0].GoOnline({});
  const Item* item = many[0].Find(many[0].Hash("n"));
  REQUIRE(item != nullptr);
  CHECK(item->value() == std::to_string(kThreads * kCounts));
  many[0].GoOffline();
  many.CheckAtRest();
}

TEST_CASE("no appended piece is lost or torn when many threads append to one key") {
  constexpr std::uint32_t kThreads = 4;
  constexpr int kAppends = 400;
  // Enough that the list is not evicted, whatever waits for threads that are preempted.
  SharedFixture many({.memory_bytes = 64 * kMegabyte, .thread_count = kThreads});
  OnThreads(kThreads, [&](std::uint32_t thread) {
    Cache& cache = many[thread];
    const std::string part(8, static_cast<char>('a' + thread));
    for (int n = 0; n < kAppends; ++n) {
      cache.GoOnline({});
      Draft draft;
      const HashedKey key = cache.Hash("list");
      REQUIRE(cache.Begin(key, 0, Expiry::Never(), part.size(), &draft) == Room::kOk);
      REQUIRE(draft.Append(part));
      const StoreMode mode = n % 2 == 0 ? StoreMode::kAppend : StoreMode::kPrepend;
      REQUIRE(cache.Store(&draft, {.mode = mode, .creates = true}).result == StoreResult::kStored);
      cache.Quiesce();
      cache.GoOffline();
    }
  });
  many[0].GoOnline({});
  const Item* item = many[0].Find(many[0].Hash("list"));
  REQUIRE(item != nullptr);
  std::string value;
  many[0].ForEachPiece(item, [&value](std::string_view piece) { value += piece; });
  std::array<int, kThreads> counts{};
  for (std::size_t at = 0; at < value.size(); at += 8) {
    REQUIRE(value.substr(at, 8) == std::string(8, value[at]));
    ++counts[static_cast<std::size_t>(value[at] - 'a')];
  }
  for (const int count : counts) CHECK(count == kAppends);
  many[0].GoOffline();
}

TEST_CASE("of many threads that add a key or win its token, one does") {
  constexpr std::uint32_t kThreads = 4;
  SharedFixture many({.memory_bytes = 8 * kMegabyte, .thread_count = kThreads});
  std::array<std::atomic<int>, 300> added{};
  std::array<std::atomic<int>, 300> won{};
  OnThreads(kThreads, [&](std::uint32_t thread) {
    Cache& cache = many[thread];
    for (std::size_t n = 0; n < added.size(); ++n) {
      cache.GoOnline({});
      const std::string key = "k" + std::to_string(n);
      Draft draft;
      REQUIRE(cache.Begin(cache.Hash(key), 0, Expiry::Never(), 0, &draft) == Room::kOk);
      if (cache.Store(&draft, {.mode = StoreMode::kAdd}).result == StoreResult::kStored) ++added[n];
      if (cache.WinToken(cache.Find(cache.Hash(key)))) ++won[n];
      cache.GoOffline();
    }
  });
  for (std::size_t n = 0; n < added.size(); ++n) {
    CHECK(added[n] == 1);
    CHECK(won[n] == 1);
  }
}

// The others stay on-line and busy, so pages must be given up, not borrowed.
TEST_CASE("a thread without memory gets pages from threads that are awake") {
  constexpr std::uint32_t kThreads = 3;
  SharedFixture many({.memory_bytes = 4 * kMegabyte, .thread_count = kThreads});
  const std::string value(500, 'v');
  const auto set = [&value](Cache& cache, const std::string& key) {
    Draft draft;
    const HashedKey hashed = cache.Hash(key);
    return cache.Begin(hashed, 0, Expiry::Never(), value.size(), &draft) == Room::kOk &&
           draft.Append(value) && cache.Store(&draft, {}).result == StoreResult::kStored;
  };
  many[0].GoOnline({});
  for (int n = 0; n < 10000; ++n) {
    REQUIRE(set(many[0], "a" + std::to_string(n)));
    many[0].Quiesce();
  }
  many[0].GoOffline();
  std::atomic<std::uint32_t> needy_left{kThreads - 1};
  std::atomic<int> refused_count{0};
  OnThreads(kThreads, [&](std::uint32_t thread) {
    Cache& cache = many[thread];
    cache.GoOnline({});
    if (thread == 0) {
      while (needy_left > 0) {
        cache.Find(cache.Hash("a1"));
        cache.Maintain();
        cache.Quiesce();
        std::this_thread::yield();
      }
    } else {
      for (int n = 0; n < 500; ++n) {
        if (!set(cache, std::to_string(thread) + "b" + std::to_string(n))) ++refused_count;
        cache.Maintain();
        cache.Quiesce();
      }
      --needy_left;
    }
    cache.GoOffline();
  });
  CHECK(refused_count == 0);
  many.CheckAtRest();
}

TEST_CASE("what is stored after a flush stays, whichever threads do it") {
  constexpr std::uint32_t kThreads = 3;
  SharedFixture many({.memory_bytes = 8 * kMegabyte, .thread_count = kThreads});
  for (int round = 0; round < 300; ++round) {
    Cache& flusher = many[static_cast<std::size_t>(round) % kThreads];
    Cache& setter = many[static_cast<std::size_t>(round + 1) % kThreads];
    flusher.GoOnline({});
    flusher.FlushAll(0);
    flusher.GoOffline();
    setter.GoOnline({});
    CHECK(setter.Find(setter.Hash("k")) == nullptr);
    Draft draft;
    REQUIRE(setter.Begin(setter.Hash("k"), 0, Expiry::Never(), 1, &draft) == Room::kOk);
    REQUIRE(draft.Append("v"));
    setter.Store(&draft, {});
    CHECK(setter.Find(setter.Hash("k")) != nullptr);
    setter.GoOffline();
  }
}

}  // namespace
}  // namespace cache
