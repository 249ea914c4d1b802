// Pages that move, the memory limit that changes, and looking over all items.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include "test/cache/fixture.h"

namespace cache {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

std::string KeyOf(int number) { return "key" + std::to_string(100000 + number); }

bool SetIn(Cache* cache, const std::string& key, const std::string& value) {
  Draft draft;
  if (cache->Begin(cache->Hash(key), 0, Expiry::Never(), value.size(), &draft) != Room::kOk ||
      !draft.Append(value)) {
    return false;
  }
  return cache->Store(&draft, {}).result == StoreResult::kStored;
}

// Turns of all workers, one after another, until no page is under way.
void Settle(SharedFixture* many, Now now) {
  for (int turn = 0; turn < 3000; ++turn) {
    bool is_busy = false;
    for (auto& cache : many->caches) {
      cache->GoOnline(now);
      is_busy = cache->Maintain() || is_busy;
      cache->GoOffline();
    }
    if (!is_busy && !many->shared->is_moving()) return;
  }
  FAIL("pages are still under way");
}

struct MovingCache : OneCache {
  using OneCache::OneCache;
  void Rest() {
    cache().GoOffline();
    Settle(this, now);
    cache().GoOnline(now);
  }
  ClassStats ClassFor(std::string_view key) {
    return shared->ReadClasses()[cache().ClassOf(Find(key))];
  }
};

TEST_CASE("a class tells its slots, items and bytes") {
  MovingCache one;
  for (int n = 0; n < 100; ++n) one.Set(KeyOf(n), "value");
  const std::size_t item_bytes = one.cache().TotalBytes(one.Find(KeyOf(0)));
  const ClassStats full = one.ClassFor(KeyOf(0));
  CHECK(full.slot_bytes >= item_bytes);
  CHECK(full.page_count == 1);
  CHECK(full.item_count == 100);
  CHECK(full.used_count == 100);
  CHECK(full.free_count == full.slots_per_page - 100U);
  CHECK(full.item_bytes == static_cast<std::int64_t>(100 * item_bytes));
  for (int n = 0; n < 40; ++n) one.Delete(KeyOf(n));
  one.PassSeconds(5);
  one.Rest();
  CHECK(one.ClassFor(KeyOf(50)).item_count == 60);
  CHECK(one.ClassFor(KeyOf(50)).used_count == 60);
  CHECK(one.ClassFor(KeyOf(50)).age_s == 5);
  for (int n = 40; n < 100; ++n) one.Get(KeyOf(n));
  one.PassSeconds(2);
  one.Rest();
  CHECK(one.ClassFor(KeyOf(50)).age_s == 2);
}

TEST_CASE("a page is reassigned to another class and its items live on") {
  MovingCache one({.memory_bytes = 8 * kMegabyte});
  const std::string value(100, 'v');
  int count = 0;
  for (; count == 0 || one.ClassFor(KeyOf(0)).page_count < 4; ++count) one.Set(KeyOf(count), value);
  for (const int more = count + 200; count < more; ++count) one.Set(KeyOf(count), value);
  for (int n = 0; n < count / 2; ++n) one.Delete(KeyOf(2 * n));
  one.Rest();
  const std::uint8_t from = one.cache().ClassOf(one.Find(KeyOf(1)));
  const auto pages_of = [&one](std::uint8_t class_id) {
    return one.shared->ReadClasses()[class_id].page_count;
  };
  const auto to = static_cast<std::uint8_t>(from + 5);
  CHECK(one.shared->Reassign(from, from) == Reassigned::kSame);
  CHECK(one.shared->Reassign(from, 300) == Reassigned::kBadClass);
  CHECK(one.shared->Reassign(to, from) == Reassigned::kNoSpare);
  const std::uint32_t before = pages_of(from);
  REQUIRE(before >= 3);
  const auto cas_of = [&one](int n) { return one.Find(KeyOf(n))->cas(); };
  std::vector<std::uint64_t> marks;
  for (int n = 1; n < count - 1; n += 2) {
    one.cache().Touch(one.Find(KeyOf(n)),
                      Expiry::AtSteady(one.now.steady_s + 1000 + static_cast<std::uint32_t>(n)));
    marks.push_back(cas_of(n));
  }
  CHECK(one.shared->Reassign(from, to) == Reassigned::kOk);
  CHECK(one.shared->Reassign(from, to) == Reassigned::kBusy);
  one.Rest();
  CHECK(pages_of(from) == before - 1);
  CHECK(pages_of(to) == 1);
  CHECK(one.Fold()->slab_reassign_rescues > 0);
  CHECK(one.Fold()->slabs_moved == 1);
  CHECK(one.Fold()->evictions == 0);
  for (int n = 1; n < count - 1; n += 2) {
    Item* item = one.Find(KeyOf(n));
    REQUIRE(item != nullptr);
    CHECK(item->value() == value);
    CHECK(item->cas() == marks[static_cast<std::size_t>(n / 2)]);
    CHECK(item->expiry().RemainingSeconds(one.now) == 1000 + n);
  }
  CHECK(one.shared->Reassign(-1, to) == Reassigned::kOk);
  one.Rest();
  CHECK(pages_of(to) == 2);
}

TEST_CASE("what is touched or marked while its page moves keeps the mark") {
  MovingCache one({.memory_bytes = 8 * kMegabyte});
  one.Set("key", "value");
  for (int n = 0; n < 20000; ++n) one.Set(KeyOf(n), "value");
  Item* before = one.Find("key");
  const std::uint8_t class_id = one.cache().ClassOf(before);
  // The page with the item is the one with the fewest worth keeping.
  for (int n = 0; n < 1000; ++n) one.Delete(KeyOf(n));
  for (int tries = 0; tries < 60 && one.Find("key") == before; ++tries) {
    REQUIRE(one.shared->Reassign(class_id, class_id + 1 + tries % 20) == Reassigned::kOk);
    // Not off-line: what was found stays readable.
    for (int slice = 0; slice < 2000 && one.Find("key") == before; ++slice) one.cache().Maintain();
    if (one.Find("key") == before) one.Rest();
  }
  Item* after = one.Find("key");
  REQUIRE(after != nullptr);
  REQUIRE(after != before);
  one.cache().Touch(before, Expiry::AtSteady(one.now.steady_s + 77));
  CHECK(after->expiry() == Expiry::AtSteady(one.now.steady_s + 77));
  CHECK(one.cache().WinToken(before));
  CHECK_FALSE(one.cache().WinToken(after));
  CHECK(one.cache().MarkStale(before, 0, 0));
  CHECK(after->Has(Item::kStale));
  one.Rest();
}

// Thread 0 fills the cache and falls silent; thread 1 then stores and reads as much.
TEST_CASE("pages follow the load to another thread within ten seconds") {
  SharedFixture two({.memory_bytes = 4 * kMegabyte, .thread_count = 2});
  const std::string value(200, 'v');
  Now now;
  const auto run = [&](std::size_t thread, int second, int count) {
    now.steady_s += 1;
    for (const std::size_t other : {thread, 1 - thread}) {
      two[other].GoOnline(now);
      for (int n = 0; other == thread && n < count; ++n) {
        CHECK(SetIn(&two[thread], KeyOf(second * count + n), value));
        if (n % 20 == 0) {
          two[thread].Maintain();
          two[thread].GoOffline();
          two[thread].GoOnline(now);
        }
      }
      two[other].Maintain();
      two[other].GoOffline();
    }
    for (int turn = 0; turn < 200; ++turn) {
      for (std::size_t other = 0; other < 2; ++other) {
        two[other].GoOnline(now);
        two[other].Maintain();
        two[other].GoOffline();
      }
    }
  };
  for (int second = 0; second < 6; ++second) run(0, second, 5000);
  const auto held = [&two] { return two.Fold()->curr_items; };
  const std::int64_t full = held();
  for (int second = 6; second < 18; ++second) run(1, second, 5000);
  two[1].GoOnline(now);
  int lived = 0;
  for (int n = 18 * 5000 - 1; n >= 6 * 5000; --n) {
    lived += two[1].Find(two[1].Hash(KeyOf(n))) != nullptr ? 1 : 0;
  }
  two[1].GoOffline();
  CHECK(lived > full * 8 / 10);
  CHECK(two.Fold()->slabs_moved > 0);
  two.CheckAtRest();
}

TEST_CASE("with automove off no page moves by itself") {
  SharedFixture two({.memory_bytes = 4 * kMegabyte, .thread_count = 1});
  two.shared->SetAutomove(Automove::kOff);
  CHECK(two.shared->automove() == Automove::kOff);
  Now now;
  for (int second = 0; second < 12; ++second) {
    ++now.steady_s;
    two[0].GoOnline(now);
    for (int n = 0; n < 4000; ++n) {
      SetIn(&two[0], KeyOf(n), std::string(second < 6 ? 100 : 1000, 'v'));
    }
    for (int slice = 0; slice < 300; ++slice) two[0].Maintain();
    two[0].GoOffline();
  }
  CHECK(two.Fold()->slabs_moved == 0);
}

TEST_CASE("a lower memory limit is reached, a higher one used") {
  MovingCache one({.memory_bytes = 16 * kMegabyte});
  const std::string value(1000, 'v');
  const auto fill = [&one, &value] {
    for (int n = 0; n < 60000; ++n) CHECK(one.Set(KeyOf(n), value) == StoreResult::kStored);
  };
  const auto used_bytes = [&one] {
    std::size_t page_count = 0;
    for (const ClassStats& of : one.shared->ReadClasses()) page_count += of.page_count;
    return page_count * one.shared->page_bytes();
  };
  fill();
  CHECK(used_bytes() == 16 * kMegabyte);
  const std::int64_t items_16 = one.Fold()->curr_items;
  CHECK(one.shared->SetMemoryLimit(kMegabyte / 2) == LimitChange::kTooSmall);
  CHECK(one.shared->SetMemoryLimit(std::size_t{1} << 50) == LimitChange::kTooLarge);
  REQUIRE(one.shared->SetMemoryLimit(6 * kMegabyte) == LimitChange::kOk);
  CHECK(one.shared->memory_limit_bytes() == 6 * kMegabyte);
  one.Rest();
  CHECK(used_bytes() <= 6 * kMegabyte);
  CHECK(one.Fold()->curr_items > items_16 / 4);
  CHECK(one.Fold()->curr_items < items_16 / 2);
  fill();
  CHECK(used_bytes() <= 6 * kMegabyte);
  REQUIRE(one.shared->SetMemoryLimit(32 * kMegabyte) == LimitChange::kOk);
  fill();
  CHECK(used_bytes() == 32 * kMegabyte);
  CHECK(one.Fold()->curr_items > items_16 * 3 / 2);
}

TEST_CASE("without eviction a lower memory limit loses no item") {
  MovingCache one({.memory_bytes = 8 * kMegabyte, .evicts = false});
  int count = 0;
  while (one.Set(KeyOf(count), "value") == StoreResult::kStored) ++count;
  REQUIRE(one.shared->SetMemoryLimit(4 * kMegabyte) == LimitChange::kOk);
  one.Rest();
  CHECK(one.Fold()->curr_items == count);
}

TEST_CASE("a walk meets every item, however the table grows meanwhile") {
  MovingCache one;
  std::mt19937_64 random(PrintedSeed());
  for (int n = 0; n < 20000; ++n) one.Set(KeyOf(n), "value");
  std::set<std::string> met;
  std::uint64_t cursor = 0;
  int added = 0;
  int slices = 0;
  do {
    one.cache().Walk(&cursor, 50, [&met](const Item* item) { met.emplace(item->key()); });
    for (std::uint64_t n = random() % 400; n > 0; --n) {
      one.Set("new" + std::to_string(added++), "value");
    }
    one.cache().Quiesce();
    one.cache().Maintain();
    ++slices;
  } while (cursor != 0);
  CHECK(slices > 100);
  for (int n = 0; n < 20000; ++n) CHECK(met.contains(KeyOf(n)));
}

TEST_CASE("a walk of a table at rest meets each item once, and none that is dead") {
  MovingCache one;
  for (int n = 0; n < 30000; ++n) one.Set(KeyOf(n), "value");
  one.Store("ended", "value", {}, 0, Expiry::Past());
  std::map<std::string, int> met;
  std::uint64_t cursor = 0;
  do {
    one.cache().Walk(&cursor, 50, [&met](const Item* item) { ++met[std::string(item->key())]; });
  } while (cursor != 0);
  CHECK(met.size() == 30000);
  const auto is_once = [](const auto& entry) { return entry.second == 1; };
  CHECK(std::all_of(met.begin(), met.end(), is_once));
}

TEST_CASE("the index shrinks after a flush, and every item is found meanwhile") {
  MovingCache one({.memory_bytes = 256 * kMegabyte});
  for (int n = 0; n < 300000; ++n) {
    one.Set(KeyOf(n), "value");
    if (n % 100 == 0) one.cache().Maintain();
  }
  one.Rest();
  const std::size_t full_bytes = one.shared->index_bytes();
  CHECK(full_bytes > 2 * kMegabyte);
  one.cache().FlushAll(0);
  for (int n = 0; n < 1000; ++n) one.Set("kept" + std::to_string(n), "value");
  one.PassSeconds(1);
  for (int slice = 0; slice < 100000 && one.shared->index_bytes() > full_bytes / 20; ++slice) {
    one.cache().Maintain();
    one.cache().Quiesce();
    if (slice % 50 != 0) continue;
    for (int n = 0; n < 1000; ++n) REQUIRE(one.Find("kept" + std::to_string(n)) != nullptr);
  }
  CHECK(one.shared->index_bytes() <= full_bytes / 20);
  CHECK(one.Fold()->curr_items == 1000);
  for (int n = 0; n < 300000; ++n) {
    REQUIRE(one.Set(KeyOf(n), "value") == StoreResult::kStored);
    if (n % 100 == 0) one.cache().Maintain();
  }
  for (int n = 0; n < 300000; ++n) REQUIRE(one.Find(KeyOf(n)) != nullptr);
}

TEST_CASE("large pages are had at once, or refused in words") {
  std::string error;
  const Options options{.memory_bytes = 8 * kMegabyte, .uses_large_pages = true};
  const auto shared = SharedCache::Create(options, &error);
  if (shared == nullptr) {
    CHECK(error.find("(-L)") != std::string::npos);
  } else {
    CHECK(error.empty());
  }
}

}  // namespace
}  // namespace cache
