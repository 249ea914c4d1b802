// Items that leave without being read.
#include <string>

#include "test/cache/fixture.h"

namespace cache {
namespace {

// Slices until the sweep has nothing to do; so many turns of a quiet worker.
void Settle(OneCache* one) {
  int slices = 0;
  while (one->cache().Maintain()) REQUIRE(++slices < 100000);
}

void SweepNextSecond(OneCache* one) {
  one->PassSeconds(1);
  Settle(one);
}

TEST_CASE("what has expired leaves without being read, what has not stays") {
  OneCache one;
  for (int n = 0; n < 1000; ++n) {
    const Expiry expiry = n % 2 == 0 ? Expiry::AtSteady(one.now.steady_s + 3) : Expiry::Never();
    one.Store("key" + std::to_string(n), "value", {}, 0, expiry);
  }
  one.Store("dated", "value", {}, 0, Expiry::AtWall(one.now.wall_s + 3));
  SweepNextSecond(&one);
  CHECK(one.Fold()->curr_items == 1001);
  one.PassSeconds(2);
  Settle(&one);
  CHECK(one.Fold()->curr_items == 500);
  CHECK(one.Fold()->crawler_reclaimed == 501);
  CHECK(one.Fold()->expired_unfetched == 501);
  CHECK(one.Fold()->reclaimed == 0);
}

TEST_CASE("pages with nothing due are not looked at") {
  OneCache one;
  for (int n = 0; n < 1000; ++n) {
    one.Store("key" + std::to_string(n), "value", {}, 0, Expiry::AtSteady(one.now.steady_s + 100));
  }
  for (int second = 0; second < 50; ++second) SweepNextSecond(&one);
  CHECK(one.Fold()->crawler_items_checked == 0);
  for (int second = 0; second < 100; ++second) SweepNextSecond(&one);
  CHECK(one.Fold()->crawler_items_checked == 1000);
  CHECK(one.Fold()->curr_items == 0);
}

TEST_CASE("a touch to an earlier end is found by the sweep, one to a later end is honoured") {
  OneCache one;
  one.Store("never", "value");
  one.Store("longer", "value", {}, 0, Expiry::AtSteady(one.now.steady_s + 2));
  one.cache().Touch(one.Find("never"), Expiry::AtSteady(one.now.steady_s + 2));
  one.cache().Touch(one.Find("longer"), Expiry::AtSteady(one.now.steady_s + 9));
  for (int second = 0; second < 4; ++second) SweepNextSecond(&one);
  CHECK(one.Fold()->curr_items == 1);
  CHECK(one.Get("longer").has_value());
  for (int second = 0; second < 6; ++second) SweepNextSecond(&one);
  CHECK(one.Fold()->curr_items == 0);
}

TEST_CASE("what a flush has made invalid leaves without being read, chains with their pieces") {
  OneCache one;
  const std::string large(700 << 10, 'x');
  for (int n = 0; n < 8; ++n) one.Set("large" + std::to_string(n), large);
  for (int n = 0; n < 1000; ++n) one.Set("key" + std::to_string(n), "value");
  one.cache().FlushAll(0);
  one.Set("after", "value");
  SweepNextSecond(&one);
  CHECK(one.Fold()->curr_items == 1);
  CHECK(one.Fold()->crawler_reclaimed == 1008);
  CHECK(one.Fold()->expired_unfetched == 0);
  const std::uint64_t checked_count = one.Fold()->crawler_items_checked;
  SweepNextSecond(&one);
  CHECK(one.Fold()->crawler_items_checked == checked_count);
}

TEST_CASE("touches by another thread while pages are swept lose no item's end") {
  SharedFixture two({.thread_count = 2});
  constexpr int kItems = 2000;
  const auto key_of = [](int n) { return "key" + std::to_string(n); };
  Now now;
  two[0].GoOnline(now);
  for (int n = 0; n < kItems; ++n) {
    Draft draft;
    REQUIRE(two[0].Begin(two[0].Hash(key_of(n)), 0, Expiry::Never(), 5, &draft) == Room::kOk);
    REQUIRE(draft.Append("value"));
    two[0].Store(&draft, {});
    two[0].Touch(two[0].Find(two[0].Hash(key_of(n))), Expiry::AtSteady(now.steady_s + 90));
  }
  two[0].GoOffline();
  OnThreads(2, [&](std::uint32_t thread) {
    Now time;
    for (int turn = 0; turn < 40; ++turn) {
      ++time.steady_s;
      two[thread].GoOnline(time);
      for (int n = 0; thread == 1 && n < kItems / 40; ++n) {
        Item* item = two[1].Find(two[1].Hash(key_of(turn * kItems / 40 + n)));
        if (item != nullptr) two[1].Touch(item, Expiry::AtSteady(time.steady_s));
      }
      for (int slice = 0; thread == 0 && slice < 50; ++slice) two[0].Maintain();
      two[thread].GoOffline();
    }
  });
  now.steady_s += 50;
  two[0].GoOnline(now);
  for (int slices = 0; two[0].Maintain(); ++slices) REQUIRE(slices < 100000);
  two[0].GoOffline();
  CHECK(two.Fold()->curr_items == 0);
  two.CheckAtRest();
}

}  // namespace
}  // namespace cache
