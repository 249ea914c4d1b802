#include "uring/timer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "test/uring/harness.h"
#include "uring/ring.h"

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using uring_test::Connect;
using uring_test::Family;
using uring_test::kModes;
using uring_test::Loop;
using uring_test::Mode;
using uring_test::Pair;

coro::Task<> Sleep(uring::Ring* ring, nanoseconds delay, int number, std::vector<int>* order) {
  uring::Timer timer(ring);
  timer.Start(delay);
  const std::int32_t result = co_await timer.Wait();
  CHECK(result == -ETIME);
  order->push_back(number);
}

TEST_CASE("timers end in the order of their times and not before") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    std::vector<int> order;
    const auto begin = steady_clock::now();
    for (const int number : {4, 2, 3, 1}) {
      loop.Spawn(Sleep(loop.ring(), milliseconds(15 * number), number, &order));
    }
    loop.RunToEnd("four timers");
    CHECK(steady_clock::now() - begin >= milliseconds(60));
    CHECK(order == std::vector<int>{1, 2, 3, 4});
  }
}

TEST_CASE("a timer of no delay ends at once") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    std::vector<int> order;
    loop.Spawn(Sleep(loop.ring(), nanoseconds(0), 1, &order));
    loop.RunToEnd("a timer of no delay");
    CHECK(order.size() == 1);
  }
}

coro::Task<> Note(uring::SingleOp* op, std::int32_t* result) { *result = co_await op->Wait(); }

TEST_CASE("a cancelled timer ends early and says so") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    uring::Timer timer(loop.ring());
    std::int32_t result = 0;
    timer.Start(std::chrono::hours(1));
    loop.Spawn(Note(&timer, &result));
    loop.PollTurn();
    CHECK(timer.in_flight());
    timer.Cancel();
    loop.RunToEnd("the cancellation");
    CHECK(result == -ECANCELED);
    CHECK_FALSE(timer.in_flight());
  }
}

TEST_CASE("a timer cancelled before it was submitted ends early") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    uring::Timer timer(loop.ring());
    std::int32_t result = 0;
    timer.Start(std::chrono::hours(1));
    timer.Cancel();
    timer.Cancel();
    loop.Spawn(Note(&timer, &result));
    loop.RunToEnd("the cancellation");
    CHECK(result == -ECANCELED);
  }
}

TEST_CASE("cancelling a timer that is not under way does nothing") {
  Loop loop(kModes[0]);
  uring::Timer timer(loop.ring());
  timer.Cancel();
  CHECK_FALSE(timer.in_flight());
  std::int32_t result = 7;
  loop.Spawn(Note(&timer, &result));
  CHECK(loop.spawner()->live_count() == 0);
  CHECK(result == 0);
}

TEST_CASE("a timer may be used again and again") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    uring::Timer timer(loop.ring());
    for (int round = 0; round < 20; ++round) {
      std::int32_t result = 0;
      timer.Start(round % 2 == 0 ? nanoseconds(microseconds(10)) : std::chrono::hours(1));
      if (round % 2 == 1) timer.Cancel();
      loop.Spawn(Note(&timer, &result));
      loop.RunToEnd("a timer used again");
      CHECK(result == (round % 2 == 0 ? -ETIME : -ECANCELED));
    }
  }
}

TEST_CASE("a negative delay is refused by the kernel and ends the wait") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    uring::Timer timer(loop.ring());
    std::int32_t result = 0;
    timer.Start(-milliseconds(1500));
    loop.Spawn(Note(&timer, &result));
    loop.RunToEnd("the refusal");
    CHECK(result == -EINVAL);
  }
}

TEST_CASE("ten thousand timers end and a quarter of them by cancellation") {
  constexpr std::size_t kCount = 10'000;
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    std::vector<std::unique_ptr<uring::Timer>> timers;
    std::vector<std::int32_t> results(kCount, 0);
    for (std::size_t index = 0; index < kCount; ++index) {
      timers.push_back(std::make_unique<uring::Timer>(loop.ring()));
      const bool is_long = index % 4 == 0;
      timers.back()->Start(is_long ? std::chrono::hours(1) : nanoseconds(microseconds(index)));
      loop.Spawn(Note(timers.back().get(), &results[index]));
    }
    loop.PollTurn();
    for (std::size_t index = 0; index < kCount; index += 4) timers[index]->Cancel();
    loop.RunToEnd("ten thousand timers");
    CHECK(std::ranges::count(results, -ECANCELED) == kCount / 4);
    CHECK(std::ranges::count(results, -ETIME) == kCount / 4 * 3);
  }
}

TEST_CASE("a poll ends when its descriptor is readable or the peer has gone") {
  for (const Mode& mode : kModes) {
    for (const bool goes : {false, true}) {
      CAPTURE(std::string(mode.name));
      Loop loop(mode);
      Pair pair = Connect(Family::kUnix);
      uring::Poll poll(loop.ring(), pair.ours.get());
      std::int32_t result = 0;
      poll.Start();
      loop.Spawn(Note(&poll, &result));
      loop.PollTurn();
      CHECK(poll.in_flight());
      if (goes) {
        pair.theirs.Close();
      } else {
        uring_test::WriteAll(pair.theirs.get(), "x");
      }
      loop.RunToEnd("readable");
      CHECK(result > 0);
    }
  }
}

TEST_CASE("a poll that is cancelled ends and may be started again") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    const Pair pair = Connect(Family::kUnix);
    uring::Poll poll(loop.ring(), pair.ours.get());
    for (int round = 0; round < 3; ++round) {
      std::int32_t result = 0;
      poll.Start();
      loop.Spawn(Note(&poll, &result));
      loop.PollTurn();
      poll.Cancel();
      loop.RunToEnd("the cancellation");
      CHECK(result == -ECANCELED);
    }
    uring_test::WriteAll(pair.theirs.get(), "x");
    std::int32_t result = 0;
    poll.Start();
    loop.Spawn(Note(&poll, &result));
    loop.RunToEnd("readable");
    CHECK(result > 0);
  }
}

TEST_CASE("a poll of a descriptor that is not open fails") {
  Loop loop(kModes[0]);
  uring::Poll poll(loop.ring(), -1);
  std::int32_t result = 0;
  poll.Start();
  loop.Spawn(Note(&poll, &result));
  loop.RunToEnd("the failure");
  CHECK(result == -EBADF);
}

}  // namespace
