// Values longer than the largest slot.
#include <string>

#include "test/cache/fixture.h"

namespace cache {
namespace {

std::string Pattern(std::size_t bytes, std::uint32_t seed) {
  std::string text(bytes, '\0');
  for (std::size_t at = 0; at < bytes; ++at) {
    seed = seed * 1664525 + 1013904223;
    text[at] = static_cast<char>('a' + (seed >> 24U) % 26);
  }
  return text;
}

TEST_CASE("values of every length around the largest slot come back whole") {
  OneCache one({.memory_bytes = std::size_t{16} << 20});
  const std::size_t largest =
      one.shared->SlotBytes(static_cast<std::uint8_t>(one.shared->class_count()));
  for (const std::size_t near : {largest, 2 * largest, 3 * largest}) {
    for (std::size_t bytes = near - 80; bytes < near + 8; ++bytes) {
      const std::string value = Pattern(bytes, 1);
      REQUIRE(one.Set("k", value) == StoreResult::kStored);
      REQUIRE(one.Get("k") == value);
      one.cache().Quiesce();
    }
  }
  const Item* item = one.Find("k");
  CHECK(item->Has(Item::kChained));
  CHECK(one.cache().TotalBytes(item) == 24 + 1 + item->value_bytes());
}

TEST_CASE("the limit of an item counts header, key and value") {
  OneCache one;
  const std::size_t value_bytes = (std::size_t{1} << 20) - 24 - 3;
  CHECK(one.Set("key", Pattern(value_bytes, 2)) == StoreResult::kStored);
  CHECK(one.Set("key", Pattern(value_bytes + 1, 2)) == StoreResult::kTooLarge);
  CHECK(one.Get("key") == Pattern(value_bytes, 2));
  CHECK(one.Store("key", "x", {.mode = StoreMode::kAppend}).result == StoreResult::kTooLarge);
}

TEST_CASE("a chain takes its bytes as they come, in any portions") {
  OneCache one;
  const std::string value = Pattern(700000, 3);
  for (const std::size_t portion : {std::size_t{1000}, std::size_t{65537}, value.size()}) {
    Draft draft;
    const HashedKey key = one.cache().Hash("k");
    REQUIRE(one.cache().Begin(key, 0, Expiry::Never(), value.size(), &draft) == Room::kOk);
    for (std::size_t at = 0; at < value.size(); at += portion) {
      REQUIRE(draft.Append(std::string_view(value).substr(at, portion)));
      one.cache().Quiesce();
    }
    CHECK(draft.missing_bytes() == 0);
    CHECK(draft.Room().empty());
    REQUIRE(one.cache().Store(&draft, {}).result == StoreResult::kStored);
    CHECK(one.Get("k") == value);
  }
}

TEST_CASE("a chain that is dropped half-way gives all its memory back") {
  OneCache one({.memory_bytes = std::size_t{8} << 20});
  for (int round = 0; round < 200; ++round) {
    Draft draft;
    const HashedKey key = one.cache().Hash("k");
    REQUIRE(one.cache().Begin(key, 0, Expiry::Never(), 1000000, &draft) == Room::kOk);
    REQUIRE(draft.Append(Pattern(600000, 4)));
    one.cache().Quiesce();
  }
  CHECK(one.block().curr_items.Get() == 0);
  CHECK(one.Fold()->evictions == 0);
}

TEST_CASE("append and prepend go from one slot to a chain and on") {
  OneCache one({.memory_bytes = std::size_t{16} << 20});
  std::string expected = Pattern(1000, 5);
  one.Store("k", expected, {}, 3);
  for (std::uint32_t round = 0; round < 60; ++round) {
    const std::string part = Pattern(11111, round);
    const bool in_front = round % 2 == 0;
    expected.insert(in_front ? 0 : expected.size(), part);
    const StoreMode mode = in_front ? StoreMode::kPrepend : StoreMode::kAppend;
    REQUIRE(one.Store("k", part, {.mode = mode}).result == StoreResult::kStored);
    REQUIRE(one.Get("k") == expected);
    one.cache().Quiesce();
  }
  CHECK(one.Find("k")->client_flags() == 3);
  CHECK(one.Find("k")->Has(Item::kChained));
}

TEST_CASE("a chain is no number") {
  OneCache one;
  REQUIRE(one.Set("k", std::string(900000, '1')) == StoreResult::kStored);
  CHECK(one.Add("k", {}).result == DeltaResult::kNonNumeric);
}

}  // namespace
}  // namespace cache
