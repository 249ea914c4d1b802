#include "test/support/template.h"

#include <doctest/doctest.h>

#include <ctime>
#include <string>

#include "test/support/bytes.h"
#include "test/support/failure.h"

namespace {

using support::Failure;
using support::PatternBytes;
using support::Template;

std::string Expanded(std::string_view text, const support::Variables& variables = {}) {
  return Template(text, {}).Expand(variables);
}

TEST_CASE("escapes stand for their bytes") {
  CHECK(Expanded("plain text") == "plain text");
  CHECK(Expanded("") == "");
  CHECK(Expanded("\\r\\n\\t\\s\\\\") == "\r\n\t \\");
  CHECK(Expanded("a\\0b") == std::string("a\0b", 3));
  CHECK(Expanded("\\x41\\xff") == "A\xff");
}

TEST_CASE("a repeated text is repeated, and may hold the number of its copy") {
  CHECK(Expanded("a\\[bc*3]d") == "abcbcbcd");
  CHECK(Expanded("\\[x*0]") == "");
  CHECK(Expanded("\\[k\\# *3]") == "k0 k1 k2 ");
  CHECK(Expanded("\\[\\r\\n*2]") == "\r\n\r\n");
  CHECK(Expanded("\\[@70]") == PatternBytes(70));
}

TEST_CASE("a variable's value is put in where it stands") {
  CHECK(Expanded("cas k \\{id}!", {{"id", "17"}}) == "cas k 17!");
  CHECK(Template("\\{i}-\\{id}", {{"i", "3"}}).Expand({{"id", "17"}}) == "3-17");
  CHECK(Template("\\{i}\\{id}", {{"i", "3"}}).OpenVariables() == std::vector<std::string>{"id"});
  CHECK_THROWS_AS(Expanded("\\{id}"), Failure);
}

TEST_CASE("now is the time of the wall clock") {
  const auto before = std::time(nullptr);
  const auto now = std::stoll(Expanded("\\{now}"));
  CHECK(now >= before);
  CHECK(now <= std::time(nullptr));
  CHECK(std::stoll(Expanded("\\{now+100}")) >= before + 100);
  CHECK(std::stoll(Expanded("\\{now-100}")) <= std::time(nullptr) - 100);
}

TEST_CASE("a malformed escape is refused") {
  for (const char* text : {"\\", "\\q", "\\x4", "\\xzz", "\\[x]", "\\[x*]", "\\[x*-1]", "\\[x*2",
                           "\\[@]", "\\[@9999999999]", "\\{id", "\\{now+x}", "\\[\\{id}*2]"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(Expanded(text), Failure);
  }
}

TEST_CASE("the shorter pattern is the beginning of the longer one, and never repeats soon") {
  const std::string pattern = PatternBytes(100'000);
  CHECK(pattern.starts_with(PatternBytes(1000)));
  CHECK(pattern.find(pattern.substr(0, 16), 1) == std::string::npos);
}

TEST_CASE("bytes are shown so that a terminal survives them") {
  CHECK(support::Show("a\r\n\\\x01\xff") == "a\\r\\n\\\\\\x01\\xff");
  const std::string shown = support::Show(std::string(5000, 'x'), 40);
  CHECK(shown.size() < 80);
  CHECK(shown.ends_with("(5000 bytes)"));
}

}  // namespace
