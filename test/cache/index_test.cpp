#include "server/cache/index.h"

#include <atomic>
#include <deque>
#include <random>
#include <unordered_map>

#include "server/cache/item_access.h"
#include "test/cache/fixture.h"

namespace cache {
namespace {

// Items with a key only, on the free store, never freed before the test ends.
class Items {
 public:
  Item* Make(std::string_view key) {
    slots_.emplace_back((sizeof(Item) + key.size() + 7) / 8);
    return ItemAccess::Make(slots_.back().data(), ItemPlan{.key = key}, 0);
  }

 private:
  std::deque<std::vector<std::uint64_t>> slots_;
};

std::unique_ptr<Index> MakeIndex(std::size_t entry_count_max) {
  std::string error;
  auto index = Index::Create(entry_count_max, 42, &error);
  REQUIRE_MESSAGE(index != nullptr, error);
  return index;
}

void Put(Index* index, Item* item, Index::Local* local) {
  const std::uint64_t hash = index->Hash(item->key());
  for (;;) {
    Index::Place place = index->Look(hash, item->key());
    index->Refill(local);
    if (!index->Lock(&place)) continue;
    if (place.item != nullptr) {
      index->Replace(place, item);
    } else {
      REQUIRE(index->Insert(&place, item, local));
    }
    index->Unlock(place);
    break;
  }
  while (index->NeedsGrowth() && index->GrowOne(local)) {
  }
}

// As far as it goes.
void Shrink(Index* index, Index::Local* local) {
  while (index->NeedsShrink() && index->ShrinkOne(local)) {
  }
}

bool Drop(Index* index, std::string_view key, Index::Local* local) {
  for (;;) {
    Index::Place place = index->Look(index->Hash(key), key);
    if (place.item == nullptr) return false;
    if (!index->Lock(&place)) continue;
    index->Remove(&place, local);
    index->Unlock(place);
    return true;
  }
}

// The model is a standard map. A table that cannot grow must live on overflow lines.
void CompareWithModel(std::size_t entry_count_max, std::size_t key_count, int steps) {
  std::mt19937_64 random(PrintedSeed());
  const auto index = MakeIndex(entry_count_max);
  Index::Local local;
  Items items;
  std::unordered_map<std::string, Item*> model;
  for (int step = 0; step < steps; ++step) {
    const std::string key = "key" + std::to_string(random() % key_count);
    const bool mostly_puts = step / (steps / 4) % 2 == 0;
    if (random() % 10 < (mostly_puts ? 7U : 2U)) {
      Item* item = items.Make(key);
      Put(index.get(), item, &local);
      model[key] = item;
    } else if (random() % 10 < 5) {
      REQUIRE(Drop(index.get(), key, &local) == (model.erase(key) == 1));
    }
    const auto found = model.find(key);
    REQUIRE(index->Find(index->Hash(key), key) == (found == model.end() ? nullptr : found->second));
    if (!mostly_puts && step % 100 == 0) Shrink(index.get(), &local);
    if (step % (steps / 20) == 0) {
      std::size_t entry_count = 0;
      REQUIRE(index->Validate(&entry_count) == "");
      REQUIRE(entry_count == model.size());
    }
  }
  for (const auto& [key, item] : model) CHECK(index->Find(index->Hash(key), key) == item);
}

TEST_CASE("the index does what a map does while it grows and shrinks") {
  CompareWithModel(1000000, 60000, 200000);
}

TEST_CASE("the index does what a map does when it may not grow and chains are long") {
  CompareWithModel(1, 40000, 100000);
}

TEST_CASE("the index grows one pair at a time to the fill it is meant to have") {
  const auto index = MakeIndex(1000000);
  Index::Local local;
  Items items;
  for (int n = 0; n < 100000; ++n) Put(index.get(), items.Make("k" + std::to_string(n)), &local);
  CHECK(index->pair_count() >= 100000 / 12 - 100);
  CHECK(index->pair_count() <= 100000 / 12 + 100);
  CHECK(index->memory_bytes() < std::size_t{14} * 100000);
}

TEST_CASE("the index shrinks one pair at a time and gives its memory back") {
  const auto index = MakeIndex(1000000);
  Index::Local local;
  Items items;
  const std::uint64_t least = index->pair_count();
  for (int n = 0; n < 100000; ++n) Put(index.get(), items.Make("k" + std::to_string(n)), &local);
  const std::uint64_t most = index->pair_count();
  CHECK_FALSE(index->NeedsShrink());
  for (int n = 0; n < 99000; ++n) REQUIRE(Drop(index.get(), "k" + std::to_string(n), &local));
  REQUIRE(index->NeedsShrink());
  REQUIRE(index->ShrinkOne(&local));
  CHECK(index->pair_count() == most - 1);
  Shrink(index.get(), &local);
  CHECK(index->pair_count() == least);
  CHECK(index->shrink_count() == most - least);
  index->ReturnMemory(index->shrink_count());
  std::size_t entry_count = 0;
  CHECK(index->Validate(&entry_count) == "");
  CHECK(entry_count == 1000);
  for (int n = 0; n < 100000; ++n) Put(index.get(), items.Make("k" + std::to_string(n)), &local);
  CHECK(index->Validate(&entry_count) == "");
  CHECK(entry_count == 100000);
}

TEST_CASE("a lock is refused when the home has changed since it was looked at") {
  const auto index = MakeIndex(1000);
  Index::Local local;
  Items items;
  Put(index.get(), items.Make("a"), &local);
  Index::Place stale = index->Look(index->Hash("a"), "a");
  Put(index.get(), items.Make("a"), &local);
  CHECK_FALSE(index->Lock(&stale));
}

// Some keys are always there; others come and go and the table grows all the while.
TEST_CASE("readers find what is there while writers change and split everything around it") {
  constexpr int kFixed = 2000;
  constexpr std::uint32_t kWriters = 3;
  const auto index = MakeIndex(1000000);
  Items fixed;
  Index::Local first_local;
  for (int n = 0; n < kFixed; ++n) {
    Put(index.get(), fixed.Make("fixed" + std::to_string(n)), &first_local);
  }
  std::atomic<std::uint32_t> writers_left{kWriters};
  std::atomic<int> lost_count{0};
  std::array<Items, kWriters> items;
  OnThreads(kWriters + 1, [&](std::uint32_t thread) {
    std::mt19937_64 random(thread);
    if (thread == kWriters) {
      while (writers_left > 0) {
        const std::string key = "fixed" + std::to_string(random() % kFixed);
        if (index->Find(index->Hash(key), key) == nullptr) ++lost_count;
        const std::string absent = "absent" + std::to_string(random() % kFixed);
        if (index->Find(index->Hash(absent), absent) != nullptr) ++lost_count;
      }
      return;
    }
    Index::Local local;
    for (int n = 0; n < 20000; ++n) {
      const std::string key = std::to_string(thread) + "/" + std::to_string(random() % 20000);
      if (random() % 3 == 0) {
        Drop(index.get(), key, &local);
        // Whether it needs to or not: what grows and shrinks at once is met by readers.
        if (n % 8 == 0) index->ShrinkOne(&local);
      } else {
        Put(index.get(), items[thread].Make(key), &local);
      }
    }
    --writers_left;
  });
  CHECK(lost_count == 0);
  std::size_t entry_count = 0;
  CHECK(index->Validate(&entry_count) == "");
  CHECK(entry_count > kFixed);
}

}  // namespace
}  // namespace cache
