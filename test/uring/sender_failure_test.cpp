// Sending to peers that reset, end, or never read.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "test/uring/harness.h"
#include "uring/ring.h"
#include "uring/sender.h"
#include "uring/timer.h"

namespace {

using uring_test::Connect;
using uring_test::Family;
using uring_test::kFamilies;
using uring_test::kModes;
using uring_test::Loop;
using uring_test::Mode;
using uring_test::Pair;

bool IsBroken(std::int32_t result) { return result == -EPIPE || result == -ECONNRESET; }

// Sends again and again until it fails, by Try or by All.
struct Attempts {
  std::vector<std::int32_t> results;
  std::int64_t sent_bytes = 0;
};

coro::Task<> SendUntilFailure(uring::Ring* ring, int fd, bool waits, Attempts* attempts) {
  std::string text(2'000'000, 'x');
  uring::Sender sender(ring, fd);
  for (std::int32_t result = 0; result >= 0;) {
    iovec piece = {.iov_base = text.data(), .iov_len = text.size()};
    if (waits) {
      result = co_await sender.All(std::span(&piece, 1));
    } else {
      result = co_await sender.Try(std::span(&piece, 1), uring::Then::kGoesOn);
    }
    attempts->results.push_back(result);
    if (result > 0) attempts->sent_bytes += result;
  }
}

TEST_CASE("a reset while a send waits for the peer ends it") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    Pair pair = Connect(Family::kTcp, 20'000);
    Attempts attempts;
    loop.Spawn(SendUntilFailure(loop.ring(), pair.ours.get(), true, &attempts));
    for (int turn = 0; turn < 10; ++turn) loop.PollTurn();
    CHECK(attempts.results.empty());
    pair.theirs.Reset();
    loop.RunToEnd("the reset");
    CHECK(IsBroken(attempts.results.back()));
    // What was taken before the reset may be reported first, as a count.
    CHECK(attempts.results.size() <= 2);
    CHECK(attempts.sent_bytes < 2'000'000);
  }
}

TEST_CASE("a peer that goes while a send waits for it ends it") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    Pair pair = Connect(Family::kUnix, 20'000);
    Attempts attempts;
    loop.Spawn(SendUntilFailure(loop.ring(), pair.ours.get(), true, &attempts));
    for (int turn = 0; turn < 10; ++turn) loop.PollTurn();
    pair.theirs.Close();
    loop.RunToEnd("the peer's end");
    CHECK(IsBroken(attempts.results.back()));
  }
}

TEST_CASE("a Try to a peer that has gone fails without a signal") {
  for (const Mode& mode : kModes) {
    for (const Family family : kFamilies) {
      CAPTURE(std::string(mode.name));
      Loop loop(mode);
      Pair pair = Connect(family);
      if (family == Family::kTcp) {
        pair.theirs.Reset();
      } else {
        pair.theirs.Close();
      }
      Attempts attempts;
      loop.Spawn(SendUntilFailure(loop.ring(), pair.ours.get(), false, &attempts));
      loop.PollUntil([&] { return loop.spawner()->live_count() == 0; }, "the failure");
      CHECK(attempts.sent_bytes == 0);
      CHECK(IsBroken(attempts.results.back()));
    }
  }
}

TEST_CASE("our own shutdown ends a send that waits for a peer that never reads") {
  for (const Mode& mode : kModes) {
    for (const Family family : kFamilies) {
      CAPTURE(std::string(mode.name));
      Loop loop(mode);
      const Pair pair = Connect(family, 20'000);
      Attempts attempts;
      loop.Spawn(SendUntilFailure(loop.ring(), pair.ours.get(), true, &attempts));
      for (int turn = 0; turn < 10; ++turn) loop.PollTurn();
      CHECK(attempts.results.empty());
      shutdown(pair.ours.get(), SHUT_RDWR);
      loop.RunToEnd("the shutdown");
      CHECK(IsBroken(attempts.results.back()));
    }
  }
}

coro::Task<> SendAllOnce(uring::Sender* sender, std::string text, std::int32_t* result) {
  iovec piece = {.iov_base = text.data(), .iov_len = text.size()};
  *result = co_await sender->All(std::span(&piece, 1));
}

TEST_CASE("a send that waits may be cancelled and reports what was taken before") {
  for (const Mode& mode : kModes) {
    for (const Family family : kFamilies) {
      CAPTURE(std::string(mode.name));
      Loop loop(mode);
      const Pair pair = Connect(family, 20'000);
      uring::Sender sender(loop.ring(), pair.ours.get());
      std::int32_t result = -1;
      loop.Spawn(SendAllOnce(&sender, uring_test::Pattern(9, 0, 2'000'000), &result));
      for (int turn = 0; turn < 10; ++turn) loop.PollTurn();
      CHECK(result == -1);
      loop.ring()->Cancel(&sender);
      loop.RunToEnd("the cancellation");
      loop.PollUntil([&] { return !sender.in_flight(); }, "the cancellation's answer");
      REQUIRE(result > 0);
      const auto taken = static_cast<std::size_t>(result);
      CHECK(uring_test::FindDifference(9, 0, uring_test::ReadBytes(pair.theirs.get(), taken)) ==
            std::string::npos);
      char one_more = 0;
      CHECK(recv(pair.theirs.get(), &one_more, 1, MSG_DONTWAIT) == -1);
    }
  }
}

TEST_CASE("a send to what is not a socket fails and the ring goes on") {
  for (const Mode& mode : kModes) {
    for (const bool waits : {false, true}) {
      CAPTURE(std::string(mode.name));
      Loop loop(mode);
      Attempts attempts;
      loop.Spawn(SendUntilFailure(loop.ring(), -1, waits, &attempts));
      loop.PollUntil([&] { return loop.spawner()->live_count() == 0; }, "the failure");
      CHECK(attempts.results == std::vector<std::int32_t>{-EBADF});
    }
  }
}

}  // namespace
