// The verbs of one Cache, as a client sees them.
#include "server/cache/cache.h"

#include <string>

#include "test/cache/fixture.h"

namespace cache {
namespace {

TEST_CASE("a value stored is found, with its flags and expiry") {
  OneCache one;
  CHECK_FALSE(one.Get("apple").has_value());
  CHECK(one.cache().last_miss() == Miss::kAbsent);
  const Expiry expiry = Expiry::AtSteady(one.now.steady_s + 10);
  CHECK(one.Store("apple", "red", {}, 7, expiry).result == StoreResult::kStored);
  const Item* item = one.Find("apple");
  REQUIRE(item != nullptr);
  CHECK(item->key() == "apple");
  CHECK(item->value() == "red");
  CHECK(item->client_flags() == 7);
  CHECK(item->expiry() == expiry);
  CHECK(one.cache().TotalBytes(item) == 24 + 4 + 5 + 3);
  CHECK(one.block().curr_items.Get() == 1);
  CHECK(one.block().bytes.Get() == 36);
  CHECK(one.block().total_items.Get() == 1);
}

// Some of them have the tag of an empty slot.
TEST_CASE("keys that are not there may be prefetched") {
  OneCache one;
  one.Set("there", "value");
  for (int n = 0; n < 200'000; ++n) {
    const std::string text = "none" + std::to_string(n);
    const HashedKey key = one.cache().Hash(text);
    one.cache().PrefetchBucket(key);
    one.cache().PrefetchItem(key);
    if (one.cache().Find(key) != nullptr) FAIL("there is no " << text);
  }
  CHECK(one.Get("there").has_value());
}

TEST_CASE("keys and values may hold any bytes, and values none") {
  OneCache one;
  const std::string key("\0\r\n \xff", 5);
  CHECK(one.Set(key, std::string("\0\n\0", 3)) == StoreResult::kStored);
  CHECK(one.Get(key) == std::string("\0\n\0", 3));
  CHECK(one.Set("empty", "") == StoreResult::kStored);
  CHECK(one.Get("empty") == "");
  const std::string longest(250, 'k');
  CHECK(one.Set(longest, "v") == StoreResult::kStored);
  CHECK(one.Get(longest) == "v");
}

TEST_CASE("a draft is unseen until it is stored, and leaves nothing when dropped") {
  OneCache one;
  {
    Draft draft;
    const HashedKey key = one.cache().Hash("k");
    REQUIRE(one.cache().Begin(key, 0, Expiry::Never(), 4, &draft) == Room::kOk);
    CHECK(draft.missing_bytes() == 4);
    CHECK(draft.Append("va"));
    CHECK(draft.missing_bytes() == 2);
    CHECK(one.Find("k") == nullptr);
  }
  CHECK(one.block().curr_items.Get() == 0);
}

TEST_CASE("add wants no item, replace and cas want one") {
  OneCache one;
  CHECK(one.Store("k", "1", {.mode = StoreMode::kReplace}).result == StoreResult::kNotStored);
  CHECK(one.Store("k", "1", {.mode = StoreMode::kCas, .compare_cas = 5}).result ==
        StoreResult::kNotFound);
  CHECK(one.Store("k", "2", {.mode = StoreMode::kAdd}).result == StoreResult::kStored);
  CHECK(one.Store("k", "3", {.mode = StoreMode::kAdd}).result == StoreResult::kNotStored);
  CHECK(one.Get("k") == "2");
  CHECK(one.Store("k", "4", {.mode = StoreMode::kReplace}).result == StoreResult::kStored);
  CHECK(one.Get("k") == "4");
}

TEST_CASE("cas stores only over the item with that id, and ids rise") {
  OneCache one;
  const std::uint64_t first = one.Store("k", "1").cas;
  const std::uint64_t second = one.Store("k", "2").cas;
  CHECK(first > 0);
  CHECK(second > first);
  CHECK(one.Find("k")->cas() == second);
  const StoreRule stale{.mode = StoreMode::kCas, .compare_cas = first};
  CHECK(one.Store("k", "3", stale).result == StoreResult::kExists);
  CHECK(one.Store("k", "3", {.mode = StoreMode::kCas}).result == StoreResult::kExists);
  const Stored stored = one.Store("k", "3", {.mode = StoreMode::kCas, .compare_cas = second});
  CHECK(stored.result == StoreResult::kStored);
  CHECK(stored.cas > second);
  CHECK(one.Get("k") == "3");
  CHECK(one.Store("k", "4", {.compare_cas = first}).result == StoreResult::kExists);
}

TEST_CASE("an id given by the client is taken, and the next one is above it") {
  OneCache one;
  CHECK(one.Store("k", "1", {.explicit_cas = 1000}).cas == 1000);
  CHECK(one.Find("k")->cas() == 1000);
  CHECK(one.Store("k", "2").cas > 1000);
  CHECK(one.Store("k", "3", {.explicit_cas = UINT64_MAX}).cas == UINT64_MAX);
  CHECK(one.Store("k", "4").result == StoreResult::kStored);
}

TEST_CASE("without cas every id is 0") {
  OneCache one({.has_cas = false});
  CHECK(one.Store("k", "1").cas == 0);
  CHECK(one.Find("k")->cas() == 0);
  CHECK(one.Store("k", "2", {.mode = StoreMode::kCas, .compare_cas = 1}).result ==
        StoreResult::kExists);
}

TEST_CASE("an older id may store a value that is marked stale and keeps its end") {
  OneCache one;
  const Expiry expiry = Expiry::AtSteady(one.now.steady_s + 100);
  REQUIRE(one.Store("k", "1", {.explicit_cas = 50}, 0, expiry).result == StoreResult::kStored);
  CHECK(one.cache().WinToken(one.Find("k")));
  const StoreRule rule{.mode = StoreMode::kCas, .compare_cas = 40, .stale_if_older = true};
  CHECK(one.Store("k", "2", rule).result == StoreResult::kStored);
  const Item* item = one.Find("k");
  CHECK(item->value() == "2");
  CHECK(item->Has(Item::kStale));
  CHECK(item->Has(Item::kTokenSent));
  CHECK(item->expiry() == expiry);
  const StoreRule newer{.mode = StoreMode::kCas, .compare_cas = UINT64_MAX, .stale_if_older = true};
  CHECK(one.Store("k", "3", newer).result == StoreResult::kExists);
}

TEST_CASE("append and prepend keep the old flags and expiry") {
  OneCache one;
  CHECK(one.Store("k", "x", {.mode = StoreMode::kAppend}).result == StoreResult::kNotStored);
  const Expiry expiry = Expiry::AtSteady(one.now.steady_s + 10);
  one.Store("k", "b", {}, 3, expiry);
  CHECK(one.Store("k", "c", {.mode = StoreMode::kAppend}, 9).result == StoreResult::kStored);
  const Stored stored = one.Store("k", "a", {.mode = StoreMode::kPrepend});
  CHECK(stored.value_bytes == 3);
  const Item* item = one.Find("k");
  CHECK(item->value() == "abc");
  CHECK(item->client_flags() == 3);
  CHECK(item->expiry() == expiry);
  CHECK(one.Store("k", "d", {.mode = StoreMode::kAppend, .compare_cas = 1}).result ==
        StoreResult::kExists);
  CHECK(one.Store("new", "n", {.mode = StoreMode::kAppend, .creates = true}).result ==
        StoreResult::kStored);
  CHECK(one.Get("new") == "n");
}

TEST_CASE("delete removes what is there, if the id is right") {
  OneCache one;
  CHECK(one.Delete("k") == DeleteResult::kNotFound);
  const std::uint64_t cas = one.Store("k", "v").cas;
  CHECK(one.Delete("k", cas + 1) == DeleteResult::kExists);
  CHECK(one.Delete("k", cas) == DeleteResult::kDeleted);
  CHECK_FALSE(one.Get("k").has_value());
  CHECK(one.block().curr_items.Get() == 0);
  CHECK(one.block().bytes.Get() == 0);
}

TEST_CASE("an item is gone when its time is over, and can be added again") {
  OneCache one;
  one.Store("k", "v", {}, 0, Expiry::AtSteady(one.now.steady_s + 10));
  one.Store("past", "v", {}, 0, Expiry::Past());
  CHECK(one.Find("past") == nullptr);
  CHECK(one.cache().last_miss() == Miss::kExpired);
  one.PassSeconds(9);
  CHECK(one.Get("k") == "v");
  one.PassSeconds(1);
  CHECK(one.Delete("k") == DeleteResult::kNotFound);
  CHECK(one.Store("k", "x", {.mode = StoreMode::kReplace}).result == StoreResult::kNotStored);
  CHECK(one.Store("k", "w", {.mode = StoreMode::kAdd}).result == StoreResult::kStored);
  CHECK(one.Get("k") == "w");
}

TEST_CASE("a read marks the item, and only what changes") {
  OneCache one;
  one.Set("k", "v");
  Item* item = one.Find("k");
  CHECK_FALSE(item->Has(Item::kFetched));
  one.PassSeconds(5);
  one.cache().MarkAccess(item);
  CHECK(item->Has(Item::kFetched));
  CHECK(item->last_access_s() == one.now.steady_s);
}

TEST_CASE("incr wraps at 2^64, decr stops at 0 and keeps the length") {
  OneCache one;
  CHECK(one.Add("n", {}).result == DeltaResult::kNotFound);
  one.Set("n", "18446744073709551615");
  CHECK(one.Add("n", {.delta = 1}).value == 0);
  CHECK(one.Get("n") == "0                   ");
  one.Store("n", "99", {}, 5);
  const Delta up = one.Add("n", {.delta = 1});
  CHECK(up.value == 100);
  CHECK(one.Get("n") == "100");
  CHECK(one.Find("n")->client_flags() == 5);
  CHECK(one.Find("n")->cas() == up.cas);
  CHECK(one.Add("n", {.delta = 1, .decrements = true}).value == 99);
  CHECK(one.Get("n") == "99 ");
  CHECK(one.Add("n", {.delta = 1}).value == 100);
  CHECK(one.Get("n") == "100");
  CHECK(one.Add("n", {.delta = 500, .decrements = true}).value == 0);
  CHECK(one.Get("n") == "0  ");
}

TEST_CASE("only a number can be counted, and only with the right id") {
  OneCache one;
  one.Set("text", "abc");
  one.Set("empty", "");
  CHECK(one.Add("text", {}).result == DeltaResult::kNonNumeric);
  CHECK(one.Add("empty", {}).result == DeltaResult::kNonNumeric);
  const std::uint64_t cas = one.Store("n", "1").cas;
  CHECK(one.Add("n", {.compare_cas = cas + 1}).result == DeltaResult::kExists);
  CHECK(one.Add("n", {.compare_cas = cas, .explicit_cas = 77}).cas == 77);
  CHECK(one.Get("text") == "abc");
}

TEST_CASE("counting can make the item, and set its end") {
  OneCache one;
  const Expiry first = Expiry::AtSteady(one.now.steady_s + 10);
  const Delta made = one.Add("n", {.creates = true, .initial = 13, .create_expiry = first});
  CHECK(made.result == DeltaResult::kOk);
  CHECK(made.created);
  CHECK(made.value == 13);
  CHECK(one.Get("n") == "13");
  CHECK(one.Find("n")->expiry() == first);
  const Expiry second = Expiry::AtSteady(one.now.steady_s + 20);
  const Delta next = one.Add("n", {.creates = true, .sets_expiry = true, .expiry = second});
  CHECK_FALSE(next.created);
  CHECK(next.value == 14);
  CHECK(next.expiry == second);
  CHECK(one.Find("n")->expiry() == second);
}

TEST_CASE("counting keeps the marks of the item") {
  OneCache one;
  one.Set("n", "10");
  one.cache().MarkAccess(one.Find("n"));
  CHECK(one.cache().MarkStale(one.Find("n"), 0, 0));
  one.Add("n", {});
  CHECK(one.Find("n")->Has(Item::kFetched));
  CHECK(one.Find("n")->Has(Item::kStale));
}

TEST_CASE("one caller wins the token until the item is marked stale") {
  OneCache one;
  const std::uint64_t cas = one.Store("k", "v").cas;
  CHECK(one.cache().WinToken(one.Find("k")));
  CHECK_FALSE(one.cache().WinToken(one.Find("k")));
  CHECK_FALSE(one.cache().MarkStale(one.Find("k"), cas + 1, 0));
  CHECK_FALSE(one.Find("k")->Has(Item::kStale));
  CHECK(one.cache().MarkStale(one.Find("k"), cas, 0));
  CHECK(one.Find("k")->Has(Item::kStale));
  CHECK(one.Find("k")->cas() > cas);
  CHECK(one.cache().WinToken(one.Find("k")));
  CHECK(one.cache().MarkStale(one.Find("k"), 0, 4711));
  CHECK(one.Find("k")->cas() == 4711);
  one.Set("k", "w");
  CHECK_FALSE(one.Find("k")->Has(Item::kStale));
}

TEST_CASE("flush_all takes what is stored now and nothing later") {
  OneCache one;
  one.Set("old", "v");
  one.cache().FlushAll(0);
  one.Set("new", "v");
  CHECK_FALSE(one.Get("old").has_value());
  CHECK(one.cache().last_miss() == Miss::kFlushed);
  CHECK(one.Get("new") == "v");
}

TEST_CASE(
    "flush_all with a delay takes what is stored until then, unless a later call replaces it") {
  OneCache one;
  one.Set("before", "v");
  one.cache().FlushAll(10);
  one.PassSeconds(9);
  one.Set("meanwhile", "v");
  CHECK(one.Get("before") == "v");
  one.PassSeconds(1);
  one.Set("after", "v");
  CHECK_FALSE(one.Get("before").has_value());
  CHECK_FALSE(one.Get("meanwhile").has_value());
  CHECK(one.Get("after") == "v");
  one.cache().FlushAll(UINT32_MAX);
  CHECK(one.Get("after") == "v");
  one.cache().FlushAll(10);
  one.cache().FlushAll(30);
  one.PassSeconds(15);
  CHECK(one.Get("after") == "v");
  one.cache().FlushAll(0);
  one.Set("last", "v");
  one.PassSeconds(30);
  CHECK(one.Get("last") == "v");
}

TEST_CASE("no number of flushes brings an item back") {
  OneCache one;
  one.Set("forgotten", "v");
  for (int flush = 0; flush < 300; ++flush) {
    one.cache().FlushAll(0);
    CHECK(one.Set("k" + std::to_string(flush), "v") == StoreResult::kStored);
    REQUIRE(one.Get("k" + std::to_string(flush)) == "v");
    one.cache().Quiesce();
  }
  CHECK_FALSE(one.Get("forgotten").has_value());
  for (int flush = 0; flush < 299; ++flush) {
    CHECK_FALSE(one.Get("k" + std::to_string(flush)).has_value());
  }
}

TEST_CASE("a pinned item stays readable after it was replaced and others came") {
  OneCache one({.memory_bytes = std::size_t{2} << 20});
  const std::string value(1000, 'p');
  one.Set("pinned", value);
  Item* item = one.Find("pinned");
  REQUIRE(one.cache().Pin(item));
  one.Set("pinned", "other");
  for (int n = 0; n < 20000; ++n) {
    REQUIRE(one.Set("k" + std::to_string(n), std::string(1000, 'x')) == StoreResult::kStored);
    one.cache().Quiesce();
  }
  CHECK(item->value() == value);
  one.cache().Unpin(item);
}

TEST_CASE("an item takes no more pins than it can count") {
  OneCache one;
  one.Set("k", "v");
  Item* item = one.Find("k");
  int pin_count = 0;
  while (pin_count < 1000 && one.cache().Pin(item)) ++pin_count;
  CHECK(pin_count == 255);
  for (; pin_count > 0; --pin_count) one.cache().Unpin(item);
}

TEST_CASE("options that contradict each other are refused with the flag to change") {
  const auto error_of = [](const Options& options) {
    std::string error;
    CHECK(SharedCache::Create(options, &error) == nullptr);
    return error;
  };
  CHECK(error_of({.thread_count = 0}).find("-t") != std::string::npos);
  CHECK(error_of({.memory_bytes = 1000}).find("-m") != std::string::npos);
  CHECK(error_of({.item_bytes_max = 10}).find("-I") != std::string::npos);
  CHECK(error_of({.item_bytes_max = std::size_t{40} << 20}).find("-I") != std::string::npos);
  CHECK(error_of({.class_factor = 1.0}).find("-f") != std::string::npos);
  CHECK(error_of({.slot_bytes_min = std::size_t{2} << 20}).find("-n") != std::string::npos);
}

}  // namespace
}  // namespace cache
