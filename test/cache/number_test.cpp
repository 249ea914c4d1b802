#include "server/cache/number.h"

#include <doctest/doctest.h>

namespace cache {
namespace {

TEST_CASE("digits with blanks around them are a number") {
  CHECK(ParseNumber("0") == 0);
  CHECK(ParseNumber("18446744073709551615") == UINT64_MAX);
  CHECK(ParseNumber("12   ") == 12);
  CHECK(ParseNumber("  12") == 12);
  CHECK(ParseNumber("+7") == 7);
  CHECK(ParseNumber("007") == 7);
  CHECK(ParseNumber("5 apples") == 5);
}

TEST_CASE("anything else is none") {
  for (const char* value : {"", " ", "hi", "12abc", "0x10", "1.5", "1e3", "-1", "+", "+ 1",
                            "1111111111111111111111111", "18446744073709551616", "1\xc3"}) {
    CAPTURE(value);
    CHECK_FALSE(ParseNumber(value).has_value());
  }
}

TEST_CASE("a number is written in as many digits as it needs") {
  CHECK(NumberText(0).text() == "0");
  CHECK(NumberText(10).text() == "10");
  CHECK(NumberText(UINT64_MAX).text() == "18446744073709551615");
}

}  // namespace
}  // namespace cache
