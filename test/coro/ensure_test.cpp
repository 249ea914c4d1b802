#include "coro/ensure.h"

#include <doctest/doctest.h>

#include <csignal>
#include <string>

#include "test/process/child.h"

namespace {

TEST_CASE("ENSURE does nothing when its condition holds") {
  int evaluated_count = 0;
  ENSURE(++evaluated_count == 1);
  CHECK(evaluated_count == 1);
}

TEST_CASE("ENSURE stops the program with the condition and its place in every build") {
  const int expected_line = __LINE__ + 3;
  const process::ChildEnd end = process::RunInChild([] {
    const int answer = 41;
    ENSURE(answer == 42);
    return 0;
  });
  CHECK(end.signal == SIGABRT);
  const std::string expected =
      "ensure_test.cpp:" + std::to_string(expected_line) + ": ENSURE(answer == 42) failed\n";
  CAPTURE(end.output);
  CHECK(end.output.find(expected) != std::string::npos);
}

TEST_CASE("ENSURE is an expression and works in an else branch without braces") {
  bool is_else = false;
  if (is_else)
    ENSURE(false);
  else
    is_else = true;
  CHECK(is_else);
}

TEST_CASE("DEBUG_ENSURE stops the program in debug builds and is not evaluated in others") {
  int evaluated_count = 0;
  DEBUG_ENSURE(++evaluated_count == 1);
  const process::ChildEnd end = process::RunInChild([] {
    DEBUG_ENSURE(1 + 1 == 3);
    return 5;
  });
#ifdef NDEBUG
  CHECK(evaluated_count == 0);
  CHECK(end.exit_status == 5);
#else
  CHECK(evaluated_count == 1);
  CHECK(end.signal == SIGABRT);
  CHECK(end.output.find("ENSURE(1 + 1 == 3) failed") != std::string::npos);
#endif
}

}  // namespace
