#include "server/cache/size_classes.h"

#include <doctest/doctest.h>

#include "server/cache/cache.h"

namespace cache {
namespace {

TEST_CASE("sizes rise in steps of eight and end with the largest") {
  for (const std::size_t page_bytes : {4096UL, 16384UL, 65536UL, 2UL << 20U}) {
    for (const double factor : {1.001, 1.06, 1.25, 2.0}) {
      const SizeClasses classes(page_bytes, 48, page_bytes / 2, factor);
      REQUIRE(classes.count() <= SizeClasses::kCountMax);
      for (std::uint8_t id = 2; id <= classes.largest() && id != 0; ++id) {
        CHECK(classes.SlotBytes(id) % 8 == 0);
        CHECK(classes.SlotBytes(id) > classes.SlotBytes(static_cast<std::uint8_t>(id - 1)));
      }
      CHECK(classes.SlotBytes(1) >= 48);
      CHECK(classes.SlotBytes(classes.largest()) == page_bytes / 2);
    }
  }
}

TEST_CASE("the class for a size is the smallest that holds it") {
  const SizeClasses classes(std::size_t{2} << 20, 48, std::size_t{512} << 10, 1.06);
  for (std::size_t bytes = 1; bytes <= (std::size_t{512} << 10); bytes += bytes < 9000 ? 1 : 997) {
    const std::uint8_t id = classes.ClassFor(bytes);
    REQUIRE(id != 0);
    CHECK(classes.SlotBytes(id) >= bytes);
    if (id > 1) CHECK(classes.SlotBytes(static_cast<std::uint8_t>(id - 1)) < bytes);
  }
  CHECK(classes.ClassFor((std::size_t{512} << 10) + 1) == 0);
}

TEST_CASE("with the default factor common items lie in slots that fit them well") {
  const Options options;
  const SizeClasses classes(std::size_t{2} << 20, options.slot_bytes_min, std::size_t{512} << 10,
                            options.class_factor);
  struct Case {
    std::size_t key_and_value_bytes;
    std::size_t slot_bytes_max;
  };
  for (const Case& c :
       {Case{24, 48}, Case{132, 160}, Case{544, 600}, Case{1040, 1107}, Case{4112, 4341}}) {
    const std::uint8_t id = classes.ClassFor(sizeof(Item) + c.key_and_value_bytes);
    CHECK((std::size_t{2} << 20) / classes.SlotsPerPage(id) <= c.slot_bytes_max);
  }
}

}  // namespace
}  // namespace cache
