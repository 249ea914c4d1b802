// When a frame may die: after the wait that its op's header asks for, at any moment of the ring,
// and whatever else has just happened to the op.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "coro/event.h"
#include "test/uring/harness.h"
#include "uring/receiver.h"
#include "uring/sender.h"
#include "uring/timer.h"

namespace {

using uring_test::Connect;
using uring_test::Family;
using uring_test::kModes;
using uring_test::Loop;
using uring_test::Mode;
using uring_test::Pair;
using uring_test::SmallRing;

// Ends when `end` is set, by the procedure of receiver.h, whatever its receiver has got by then.
coro::Task<> ReceiveUntil(uring::Ring* ring, int fd, coro::Event* end, bool* has_ended) {
  uring::Receiver receiver(ring, fd);
  receiver.Start();
  co_await end->Wait();
  receiver.Stop();
  while (receiver.in_flight()) co_await receiver.Wait();
  *has_ended = true;
}

TEST_CASE("a receiver may die in the turn in which its data, end or error has come") {
  for (const Mode& mode : kModes) {
    for (const int what : {0, 1, 2}) {
      CAPTURE(std::string(mode.name));
      CAPTURE(what);
      Loop loop(mode);
      Pair pair = Connect(Family::kTcp);
      coro::Event end;
      bool has_ended = false;
      loop.Spawn(ReceiveUntil(loop.ring(), pair.ours.get(), &end, &has_ended));
      loop.PollTurn();
      if (what == 0) uring_test::WriteAll(pair.theirs.get(), "data");
      if (what == 1) pair.theirs.Close();
      if (what == 2) pair.theirs.Reset();
      // Taken in, and not yet resumed.
      loop.RunUntil(
          [&] {
            loop.ring()->Enter(uring::Wait::kYes);
            return true;
          },
          "a completion");
      end.Set();
      loop.RunToEnd("the receiver's end");
      CHECK(has_ended);
      CHECK(loop.ring()->buffers().held_count() == 0);
    }
  }
}

TEST_CASE("a receiver that waits for buffers may die") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    uring::RingOptions options = SmallRing(mode);
    options.buffer_count = 1;
    options.buffer_bytes = 64;
    Loop loop(options);
    const Pair holder = Connect(Family::kUnix);
    const Pair waiting = Connect(Family::kUnix);
    coro::Event end_holder;
    coro::Event end_waiting;
    bool has_ended = false;
    loop.Spawn(ReceiveUntil(loop.ring(), holder.ours.get(), &end_holder, &has_ended));
    uring_test::WriteAll(holder.theirs.get(), "the only buffer");
    loop.PollTurn();
    loop.PollTurn();
    REQUIRE(loop.ring()->buffers().held_count() == 1);
    loop.Spawn(ReceiveUntil(loop.ring(), waiting.ours.get(), &end_waiting, &has_ended));
    uring_test::WriteAll(waiting.theirs.get(), "no buffer");
    for (int turn = 0; turn < 5; ++turn) loop.PollTurn();
    end_waiting.Set();
    for (int turn = 0; turn < 5; ++turn) loop.PollTurn();
    CHECK(has_ended);
    end_holder.Set();
    loop.RunToEnd("both receivers' ends");
    for (int turn = 0; turn < 5; ++turn) loop.PollTurn();
  }
}

coro::Task<> PopAndEnd(uring::Ring* ring, int fd) {
  uring::Receiver receiver(ring, fd);
  receiver.Start();
  while (!receiver.has_data()) co_await receiver.Wait();
  receiver.Pop();  // Where there is no multishot it is to be armed again after this.
  receiver.Stop();
  while (receiver.in_flight()) co_await receiver.Wait();
}

TEST_CASE("a receiver may die right after its last buffer was given back") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    const Pair pair = Connect(Family::kUnix);
    for (int round = 0; round < 100; ++round) {
      uring_test::WriteAll(pair.theirs.get(), "x");
      loop.Spawn(PopAndEnd(loop.ring(), pair.ours.get()));
      loop.RunToEnd("a short receiver");
    }
    loop.PollTurn();
  }
}

TEST_CASE("a receiver that never started may die") {
  Loop loop(kModes[0]);
  const Pair pair = Connect(Family::kUnix);
  {
    const uring::Receiver receiver(loop.ring(), pair.ours.get());
  }
  loop.PollTurn();
}

coro::Task<> NudgeAndEnd(uring::Ring* ring, int fd) {
  uring::Receiver receiver(ring, fd);
  receiver.Nudge();
  receiver.Stop();
  while (receiver.in_flight()) co_await receiver.Wait();
}

TEST_CASE("a receiver that was nudged may die") {
  Loop loop(kModes[0]);
  const Pair pair = Connect(Family::kUnix);
  loop.Spawn(NudgeAndEnd(loop.ring(), pair.ours.get()));
  loop.RunToEnd("a nudged receiver");
  loop.PollTurn();
}

coro::Task<> SleepUntil(uring::Ring* ring, std::chrono::nanoseconds delay, coro::Event* end,
                        bool* has_ended) {
  uring::Timer timer(ring);
  timer.Start(delay);
  co_await end->Wait();
  timer.Cancel();
  co_await timer.Wait();
  *has_ended = true;
}

TEST_CASE("a timer may die in the turn in which its time was over") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    coro::Event end;
    bool has_ended = false;
    loop.Spawn(SleepUntil(loop.ring(), std::chrono::nanoseconds(1), &end, &has_ended));
    loop.RunUntil(
        [&] {
          loop.ring()->Enter(uring::Wait::kYes);
          return true;
        },
        "the time");
    end.Set();
    loop.RunToEnd("the timer's end");
    CHECK(has_ended);
  }
}

// Cancels its timer when that has fired and its completion has not been taken in: the kernel then
// answers first that there is nothing to cancel.
coro::Task<> CancelLate(uring::Ring* ring, coro::Event* has_fired, bool* has_ended) {
  uring::Timer timer(ring);
  timer.Start(std::chrono::milliseconds(10));
  co_await has_fired->Wait();
  timer.Cancel();
  co_await timer.Wait();
  *has_ended = true;
}

TEST_CASE("an op whose cancellation came too late may die at once") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    coro::Event has_fired;
    bool has_ended = false;
    loop.Spawn(CancelLate(loop.ring(), &has_fired, &has_ended));
    loop.PollTurn();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    has_fired.Set();
    loop.RunToEnd("the timer's end");
    CHECK(has_ended);
    for (int turn = 0; turn < 5; ++turn) loop.PollTurn();  // Must not look at the timer again.
  }
}

}  // namespace
