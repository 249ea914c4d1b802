// Stopping and starting at any moment: no byte is lost, and no frame dies while the kernel has its
// operation (Op's destructor would stop the program).
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <thread>

#include "test/uring/harness.h"
#include "uring/receiver.h"

namespace {

using uring_test::Connect;
using uring_test::Family;
using uring_test::kFamilies;
using uring_test::kModes;
using uring_test::Loop;
using uring_test::Mode;
using uring_test::Pair;

// How far a stream has been read, and whether it was the pattern so far.
struct Progress {
  std::uint64_t seed = 0;
  std::uint64_t bytes = 0;
  bool is_exact = true;
  bool has_ended = false;
  std::uint32_t stop_count = 0;
};

void Read(uring::Receiver* receiver, Progress* progress) {
  while (receiver->has_data()) {
    const std::span<const char> front = receiver->Front();
    progress->is_exact =
        progress->is_exact &&
        uring_test::FindDifference(progress->seed, progress->bytes, front) == std::string::npos;
    progress->bytes += front.size();
    receiver->Pop();
  }
}

// Receives a little, stops at a random moment, starts again without or after waiting, to the end.
coro::Task<> StopAndStart(uring::Ring* ring, int fd, Progress* progress) {
  std::mt19937_64 random(progress->seed);
  uring::Receiver receiver(ring, fd);
  receiver.Start();
  for (;;) {
    const std::uint64_t choice = random() % 8;
    if (choice < 4) {
      receiver.Stop();
      ++progress->stop_count;
    }
    if (choice == 0) {
      while (receiver.in_flight()) co_await receiver.Wait();
    }
    if (choice < 3) Read(&receiver, progress);
    receiver.Start();
    while (!receiver.has_data() && !receiver.has_ended()) co_await receiver.Wait();
    if (choice >= 5) Read(&receiver, progress);
    if (receiver.has_ended() && !receiver.has_data()) break;
  }
  progress->has_ended = receiver.end_result() == 0;
  receiver.Stop();
  while (receiver.in_flight()) co_await receiver.Wait();
}

void SendPattern(int fd, std::uint64_t seed, std::size_t total_bytes) {
  std::mt19937_64 random(seed);
  for (std::size_t sent = 0; sent < total_bytes;) {
    const std::size_t bytes = std::min<std::size_t>(1 + random() % 700, total_bytes - sent);
    uring_test::WriteAll(fd, uring_test::Pattern(seed, sent, bytes));
    sent += bytes;
  }
  shutdown(fd, SHUT_WR);
}

TEST_CASE("receiving may be stopped and started at any moment without losing a byte") {
  constexpr std::size_t kBytes = 600'000;
  std::uint64_t seed = std::random_device{}();
  for (const Mode& mode : kModes) {
    for (const Family family : kFamilies) {
      Progress progress = {.seed = ++seed};
      CAPTURE(std::string(mode.name));
      CAPTURE(seed);
      Loop loop(mode);
      const Pair pair = Connect(family);
      std::thread peer(SendPattern, pair.theirs.get(), seed, kBytes);
      loop.Spawn(StopAndStart(loop.ring(), pair.ours.get(), &progress));
      loop.RunToEnd("a stream stopped and started");
      peer.join();
      CHECK(progress.bytes == kBytes);
      CHECK(progress.is_exact);
      CHECK(progress.has_ended);
      CHECK(loop.ring()->buffers().held_count() == 0);
    }
  }
}

// One short life of a receiver: starts, waits for some news, stops with bytes unread or not, and
// reads what came until the stop was through.
coro::Task<> LiveShortly(uring::Ring* ring, int fd, std::uint64_t news_count, Progress* progress) {
  uring::Receiver receiver(ring, fd);
  receiver.Start();
  for (std::uint64_t news = 0; news < news_count && !receiver.has_ended(); ++news) {
    Read(&receiver, progress);
    co_await receiver.Wait();
  }
  receiver.Stop();
  ++progress->stop_count;
  while (receiver.in_flight()) co_await receiver.Wait();
  Read(&receiver, progress);
  progress->has_ended = receiver.has_ended();
}

// The next receiver of the same socket goes on where the last one was cancelled.
coro::Task<> LiveAgainAndAgain(uring::Ring* ring, int fd, Progress* progress) {
  std::mt19937_64 random(progress->seed);
  while (!progress->has_ended) {
    const std::uint64_t news_count = random() % 3;
    co_await LiveShortly(ring, fd, news_count, progress);
  }
}

// Sends small bits of the pattern until told to stop, seldom far ahead of the reader: so most
// cancellations meet a socket that is about to get data.
struct Sending {
  std::atomic<std::uint64_t> read_bytes = 0;
  std::atomic<bool> is_stopped = false;
  std::uint64_t sent_bytes = 0;
};

void SendUntilStopped(int fd, std::uint64_t seed, Sending* sending) {
  std::mt19937_64 random(seed);
  while (!sending->is_stopped.load()) {
    for (int patience = 100; patience != 0; --patience) {
      if (sending->sent_bytes <= sending->read_bytes.load() + 300) break;
      std::this_thread::yield();
    }
    const std::size_t bytes = 1 + random() % 100;
    uring_test::WriteAll(fd, uring_test::Pattern(seed, sending->sent_bytes, bytes));
    sending->sent_bytes += bytes;
  }
  shutdown(fd, SHUT_WR);
}

TEST_CASE(
    "a hundred thousand cancellations at random moments lose no byte and free no frame early") {
  constexpr std::uint32_t kStopCount = 100'000 / kModes.size();
  std::uint64_t seed = std::random_device{}();
  for (const Mode& mode : kModes) {
    Progress progress = {.seed = ++seed};
    CAPTURE(std::string(mode.name));
    CAPTURE(seed);
    Loop loop(mode);
    const Pair pair = Connect(Family::kUnix);
    Sending sending;
    std::thread peer(SendUntilStopped, pair.theirs.get(), seed, &sending);
    loop.Spawn(LiveAgainAndAgain(loop.ring(), pair.ours.get(), &progress));
    const auto has_ended = [&] {
      sending.read_bytes.store(progress.bytes);
      if (progress.stop_count >= kStopCount) sending.is_stopped.store(true);
      return loop.spawner()->live_count() == 0;
    };
    loop.RunUntil(has_ended, "cancellations at random moments");
    peer.join();
    CHECK(progress.stop_count >= kStopCount);
    CHECK(progress.bytes == sending.sent_bytes);
    CHECK(progress.is_exact);
    CHECK(loop.ring()->buffers().held_count() == 0);
  }
}

TEST_CASE("a stop before the submission is undone by a start") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    Pair pair = Connect(Family::kUnix);
    uring_test::Received received;
    loop.Spawn([](uring::Ring* ring, int fd, uring_test::Received* into) -> coro::Task<> {
      uring::Receiver receiver(ring, fd);
      receiver.Start();
      receiver.Stop();
      receiver.Start();
      receiver.Stop();
      receiver.Start();
      while (!receiver.has_data()) co_await receiver.Wait();
      into->bytes.assign(receiver.Front().data(), receiver.Front().size());
      receiver.Pop();
      receiver.Stop();
      while (receiver.in_flight()) co_await receiver.Wait();
    }(loop.ring(), pair.ours.get(), &received));
    loop.PollTurn();
    loop.PollTurn();
    uring_test::WriteAll(pair.theirs.get(), "still here");
    loop.RunToEnd("bytes after stops and starts");
    CHECK(received.bytes == "still here");
  }
}

coro::Task<> StopAndCount(uring::Ring* ring, int fd, std::uint64_t* bytes, bool* has_stopped) {
  uring::Receiver receiver(ring, fd);
  receiver.Start();
  while (!receiver.has_data()) co_await receiver.Wait();
  receiver.Stop();
  while (receiver.in_flight()) co_await receiver.Wait();
  *has_stopped = true;
  while (receiver.has_data()) {
    *bytes += receiver.Front().size();
    receiver.Pop();
  }
}

TEST_CASE("after a stop has come through the kernel takes nothing more from the socket") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    const Pair pair = Connect(Family::kUnix);
    std::uint64_t bytes = 0;
    bool has_stopped = false;
    loop.Spawn(StopAndCount(loop.ring(), pair.ours.get(), &bytes, &has_stopped));
    uring_test::WriteAll(pair.theirs.get(), "before");
    loop.RunToEnd("the stop");
    uring_test::WriteAll(pair.theirs.get(), "after");
    for (int turn = 0; turn < 5; ++turn) loop.PollTurn();
    CHECK(bytes == 6);
    CHECK(uring_test::ReadBytes(pair.ours.get(), 5) == "after");
  }
}

}  // namespace
