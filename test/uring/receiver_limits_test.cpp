// Receiving at the limits: no buffer left, an overrun completion queue, buffers held for long.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "coro/event.h"
#include "test/uring/harness.h"
#include "uring/receiver.h"
#include "uring/timer.h"

namespace {

using uring_test::Connect;
using uring_test::Family;
using uring_test::kModes;
using uring_test::Loop;
using uring_test::Mode;
using uring_test::Pair;
using uring_test::Received;
using uring_test::ReceiveToEnd;
using uring_test::SmallRing;

// Many connections whose peers all send at once, before the ring looks.
void ReceiveBurst(Loop* loop, std::size_t connection_count, std::size_t bytes_each) {
  std::vector<Pair> pairs;
  std::vector<Received> received(connection_count);
  for (std::size_t index = 0; index < connection_count; ++index) {
    pairs.push_back(Connect(Family::kUnix));
    loop->Spawn(ReceiveToEnd(loop->ring(), pairs.back().ours.get(), &received[index]));
  }
  loop->PollTurn();
  for (std::size_t index = 0; index < connection_count; ++index) {
    uring_test::WriteAll(pairs[index].theirs.get(), uring_test::Pattern(index, 0, bytes_each));
    pairs[index].theirs.Close();
  }
  loop->RunToEnd("a burst on many connections");
  for (std::size_t index = 0; index < connection_count; ++index) {
    CAPTURE(index);
    REQUIRE(received[index].bytes.size() == bytes_each);
    REQUIRE(uring_test::FindDifference(index, 0, received[index].bytes) == std::string::npos);
    REQUIRE(received[index].end_result == 0);
  }
  CHECK(loop->ring()->buffers().held_count() == 0);
}

TEST_CASE("a pool of two buffers serves many connections without loss") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    uring::RingOptions options = SmallRing(mode);
    options.buffer_count = 2;
    options.buffer_bytes = 512;
    Loop loop(options);
    ReceiveBurst(&loop, 60, 5000);
    CHECK(loop.ring()->counters().receive_no_buffers > 0);
  }
}

TEST_CASE("a pool of a single buffer serves many connections without loss") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    uring::RingOptions options = SmallRing(mode);
    options.buffer_count = 1;
    options.buffer_bytes = 4096;
    Loop loop(options);
    ReceiveBurst(&loop, 20, 10'000);
  }
}

TEST_CASE("a completion queue overrun by a burst loses nothing") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    uring::RingOptions options = SmallRing(mode);
    options.sq_entries = 8;
    options.cq_entries = 8;
    options.buffer_count = 256;
    options.buffer_bytes = 64;
    Loop loop(options);
    ReceiveBurst(&loop, 200, 3000);
    CHECK(loop.ring()->counters().cq_overflows > 0);
  }
}

TEST_CASE("an overrun completion queue and two buffers at once lose nothing") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    uring::RingOptions options = SmallRing(mode);
    options.sq_entries = 4;
    options.cq_entries = 4;
    options.buffer_count = 2;
    options.buffer_bytes = 256;
    Loop loop(options);
    ReceiveBurst(&loop, 100, 2000);
  }
}

coro::Task<> SetAfter(uring::Ring* ring, std::chrono::milliseconds delay, coro::Event* event) {
  uring::Timer timer(ring);
  timer.Start(delay);
  co_await timer.Wait();
  event->Set();
}

TEST_CASE("many timers that end at once overrun the queue and all end") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    uring::RingOptions options = SmallRing(mode);
    options.sq_entries = 8;
    options.cq_entries = 8;
    Loop loop(options);
    std::vector<coro::Event> events(500);
    for (coro::Event& event : events) {
      loop.Spawn(SetAfter(loop.ring(), std::chrono::milliseconds(5), &event));
    }
    loop.PollTurn();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    loop.RunToEnd("500 timers");
    for (const coro::Event& event : events) REQUIRE(event.is_set());
    CHECK(loop.ring()->counters().cq_overflows > 0);
  }
}

}  // namespace
