#include "uring/receiver.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "test/uring/harness.h"
#include "uring/sender.h"

namespace {

using uring_test::Connect;
using uring_test::Family;
using uring_test::kFamilies;
using uring_test::kModes;
using uring_test::Loop;
using uring_test::Mode;
using uring_test::Pair;
using uring_test::Received;
using uring_test::ReceiveToEnd;

TEST_CASE("a receiver gets what the peer sends and then its end") {
  for (const Mode& mode : kModes) {
    for (const Family family : kFamilies) {
      CAPTURE(std::string(mode.name));
      Loop loop(mode);
      Pair pair = Connect(family);
      Received received;
      loop.Spawn(ReceiveToEnd(loop.ring(), pair.ours.get(), &received));
      uring_test::WriteAll(pair.theirs.get(), "hello");
      loop.RunUntil([&] { return received.bytes == "hello"; }, "the peer's bytes");
      CHECK_FALSE(received.has_ended);
      pair.theirs.Close();
      loop.RunToEnd("the peer's end");
      CHECK(received.bytes == "hello");
      CHECK(received.end_result == 0);
    }
  }
}

TEST_CASE("what was sent before the end is received before it") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    Pair pair = Connect(Family::kTcp);
    const std::string sent = uring_test::Pattern(1, 0, 50'000);
    uring_test::WriteAll(pair.theirs.get(), sent);
    pair.theirs.Close();
    Received received;
    loop.Spawn(ReceiveToEnd(loop.ring(), pair.ours.get(), &received));
    loop.RunToEnd("the peer's end");
    CHECK(received.bytes == sent);
    CHECK(received.end_result == 0);
  }
}

// Sends the pattern in pieces of random sizes, from one byte to many buffers.
void SendInRandomSizes(int fd, std::uint64_t seed, std::size_t total_bytes) {
  std::mt19937_64 random(seed);
  for (std::size_t sent = 0; sent < total_bytes;) {
    const std::size_t magnitude = random() % 15;
    const std::size_t bytes =
        std::min(1 + random() % (std::size_t{1} << magnitude), total_bytes - sent);
    uring_test::WriteAll(fd, uring_test::Pattern(seed, sent, bytes));
    sent += bytes;
    if (random() % 16 == 0) std::this_thread::yield();
  }
  shutdown(fd, SHUT_WR);
}

TEST_CASE("bytes and order are exact whatever the sizes in which they come") {
  constexpr std::size_t kBytes = 1 << 20;
  std::uint64_t seed = std::random_device{}();
  for (const Mode& mode : kModes) {
    for (const Family family : kFamilies) {
      CAPTURE(std::string(mode.name));
      CAPTURE(++seed);
      Loop loop(mode);
      const Pair pair = Connect(family);
      Received received;
      std::thread peer(SendInRandomSizes, pair.theirs.get(), seed, kBytes);
      loop.Spawn(ReceiveToEnd(loop.ring(), pair.ours.get(), &received));
      loop.RunToEnd("a mebibyte in random sizes");
      peer.join();
      CHECK(received.bytes.size() == kBytes);
      CHECK(uring_test::FindDifference(seed, 0, received.bytes) == std::string::npos);
    }
  }
}

TEST_CASE("a reset ends receiving with its errno") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    Pair pair = Connect(Family::kTcp);
    Received received;
    loop.Spawn(ReceiveToEnd(loop.ring(), pair.ours.get(), &received));
    uring_test::WriteAll(pair.theirs.get(), "last words");
    loop.RunUntil([&] { return received.bytes == "last words"; }, "the peer's bytes");
    pair.theirs.Reset();
    loop.RunToEnd("the reset");
    CHECK(received.end_result == -ECONNRESET);
  }
}

TEST_CASE("a reset before the first receive ends it too") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    Pair pair = Connect(Family::kTcp);
    pair.theirs.Reset();
    Received received;
    loop.Spawn(ReceiveToEnd(loop.ring(), pair.ours.get(), &received));
    loop.RunToEnd("the reset");
    CHECK(received.end_result == -ECONNRESET);
  }
}

coro::Task<> AnswerAfterEnd(uring::Ring* ring, int fd, Received* received) {
  co_await ReceiveToEnd(ring, fd, received);
  uring::Sender sender(ring, fd);
  iovec piece = {.iov_base = received->bytes.data(), .iov_len = received->bytes.size()};
  const std::int32_t sent_bytes = co_await sender.All(std::span(&piece, 1));
  CHECK(sent_bytes == static_cast<std::int32_t>(received->bytes.size()));
}

TEST_CASE("a peer that has ended its side can still be answered") {
  for (const Mode& mode : kModes) {
    for (const Family family : kFamilies) {
      CAPTURE(std::string(mode.name));
      Loop loop(mode);
      const Pair pair = Connect(family);
      Received received;
      loop.Spawn(AnswerAfterEnd(loop.ring(), pair.ours.get(), &received));
      uring_test::WriteAll(pair.theirs.get(), "one way");
      shutdown(pair.theirs.get(), SHUT_WR);
      loop.RunToEnd("the answer");
      CHECK(received.end_result == 0);
      CHECK(uring_test::ReadBytes(pair.theirs.get(), 7) == "one way");
    }
  }
}

coro::Task<> HoldThenCheck(uring::Ring* ring, int fd, std::uint32_t hold_count, bool* is_intact) {
  uring::Receiver receiver(ring, fd);
  receiver.Start();
  while (receiver.held_count() < hold_count) co_await receiver.Wait();
  *is_intact = true;
  for (std::uint32_t index = 0; index < hold_count; ++index) {
    const std::span<const char> front = receiver.Front();
    *is_intact =
        *is_intact && front.size() == 100 &&
        uring_test::FindDifference(5, std::uint64_t{index} * 100, front) == std::string::npos;
    receiver.Pop();
  }
  receiver.Stop();
  while (receiver.in_flight()) co_await receiver.Wait();
}

TEST_CASE("unread buffers stay as they are until they are given back") {
  for (const Mode& mode : kModes) {
    if (mode.deny_multishot) continue;  // There, receiving rests until all has been read.
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    const Pair pair = Connect(Family::kUnix);
    bool is_intact = false;
    loop.Spawn(HoldThenCheck(loop.ring(), pair.ours.get(), 8, &is_intact));
    for (std::uint64_t index = 0; index < 8; ++index) {
      uring_test::WriteAll(pair.theirs.get(), uring_test::Pattern(5, index * 100, 100));
      loop.PollTurn();
    }
    loop.RunToEnd("eight buffers");
    CHECK(is_intact);
  }
}

TEST_CASE("what is not a socket ends receiving with its errno") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    Received received;
    loop.Spawn(ReceiveToEnd(loop.ring(), -1, &received));
    loop.RunToEnd("the error");
    CHECK(received.end_result == -EBADF);
  }
}

TEST_CASE("a socket set to non-blocking is received from all the same") {
  for (const Mode& mode : kModes) {
    for (const Family family : kFamilies) {
      CAPTURE(std::string(mode.name));
      Loop loop(mode);
      Pair pair = Connect(family);
      REQUIRE(fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK) == 0);
      Received received;
      loop.Spawn(ReceiveToEnd(loop.ring(), pair.ours.get(), &received));
      for (int turn = 0; turn < 10; ++turn) loop.PollTurn();
      CHECK(loop.ring()->counters().completions == 0);
      uring_test::WriteAll(pair.theirs.get(), "hello");
      pair.theirs.Close();
      loop.RunToEnd("the peer's end");
      CHECK(received.bytes == "hello");
    }
  }
}

}  // namespace
