// The stack must not grow with the depth of awaits, whatever the compiler, the optimisation and the
// sanitizer. A million levels would overflow it with a frame of even 9 bytes each.
#include <doctest/doctest.h>

#include <cstdint>

#include "coro/event.h"
#include "coro/spawn.h"
#include "coro/task.h"

namespace {

using coro::Task;

constexpr std::uint32_t kDepth = 1'000'000;

Task<std::uint32_t> Nest(std::uint32_t depth) {
  if (depth == 0) co_return 0;
  const std::uint32_t below = co_await Nest(depth - 1);
  co_return below + 1;
}

Task<> NestOnce(std::uint32_t depth, std::uint32_t* result) { *result = co_await Nest(depth); }

TEST_CASE("awaits may nest a million deep") {
  coro::Spawner spawner;
  std::uint32_t result = 0;
  spawner.Spawn(NestOnce(kDepth, &result));
  CHECK(result == kDepth);
}

Task<> NestToEvent(std::uint32_t depth, coro::Event* event, std::uint32_t* unwound_count) {
  if (depth == 0) {
    co_await event->Wait();
    co_return;
  }
  co_await NestToEvent(depth - 1, event, unwound_count);
  ++*unwound_count;
}

TEST_CASE("a suspended coroutine a million deep is resumed at its bottom and unwinds") {
  coro::Spawner spawner;
  coro::Event event;
  std::uint32_t unwound_count = 0;
  spawner.Spawn(NestToEvent(kDepth, &event, &unwound_count));
  CHECK(unwound_count == 0);
  CHECK(spawner.live_count() == 1);
  event.Set();
  CHECK(unwound_count == kDepth);
  CHECK(spawner.live_count() == 0);
}

Task<std::uint32_t> One() { co_return 1; }

Task<> AwaitInARow(std::uint32_t count, std::uint32_t* sum) {
  for (std::uint32_t index = 0; index < count; ++index) {
    const std::uint32_t one = co_await One();
    *sum += one;
  }
}

TEST_CASE("a million awaits in a row that never suspend do not use up the stack") {
  coro::Spawner spawner;
  std::uint32_t sum = 0;
  spawner.Spawn(AwaitInARow(kDepth, &sum));
  CHECK(sum == kDepth);
}

Task<> Nothing() { co_return; }

Task<> AwaitNothingInARow(std::uint32_t count) {
  for (std::uint32_t index = 0; index < count; ++index) co_await Nothing();
}

TEST_CASE("a million awaits of tasks without a result do not use up the stack") {
  coro::Spawner spawner;
  spawner.Spawn(AwaitNothingInARow(kDepth));
  CHECK(spawner.live_count() == 0);
}

Task<> PassSetEvents(std::uint32_t count, coro::Event* event, std::uint32_t* passed_count) {
  for (; *passed_count < count; ++*passed_count) co_await event->Wait();
}

TEST_CASE("a million waits for an event that is set do not suspend") {
  coro::Spawner spawner;
  coro::Event event;
  event.Set();
  std::uint32_t passed_count = 0;
  spawner.Spawn(PassSetEvents(kDepth, &event, &passed_count));
  CHECK(passed_count == kDepth);
}

}  // namespace
