#include "uring/sender.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "test/uring/harness.h"
#include "uring/ring.h"

namespace {

using uring_test::Connect;
using uring_test::Family;
using uring_test::kFamilies;
using uring_test::kModes;
using uring_test::Loop;
using uring_test::Mode;
using uring_test::Pair;
using uring_test::SmallRing;

constexpr int kNone = -100'000;  // No result yet.

coro::Task<> Send(uring::Ring* ring, int fd, std::string text, bool waits, int* result) {
  uring::Sender sender(ring, fd);
  iovec piece = {.iov_base = text.data(), .iov_len = text.size()};
  if (waits) {
    *result = co_await sender.All(std::span(&piece, 1));
  } else {
    *result = co_await sender.Try(std::span(&piece, 1), uring::Then::kGoesOn);
  }
}

TEST_CASE("a send that fits reports its bytes and the peer gets them") {
  for (const Mode& mode : kModes) {
    for (const Family family : kFamilies) {
      for (const bool waits : {false, true}) {
        CAPTURE(std::string(mode.name));
        CAPTURE(waits);
        Loop loop(mode);
        const Pair pair = Connect(family);
        int result = kNone;
        loop.Spawn(Send(loop.ring(), pair.ours.get(), "twelve bytes", waits, &result));
        CHECK(result == kNone);
        loop.PollUntil([&] { return result != kNone; }, "a send");
        CHECK(result == 12);
        CHECK(uring_test::ReadBytes(pair.theirs.get(), 12) == "twelve bytes");
      }
    }
  }
}

TEST_CASE("a Try that fits costs no completion and a wait costs one") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    const Pair pair = Connect(Family::kTcp);
    int result = kNone;
    loop.Spawn(Send(loop.ring(), pair.ours.get(), "fits", false, &result));
    loop.PollUntil([&] { return result != kNone; }, "a Try");
    CHECK(loop.ring()->counters().completions == 0);
    loop.Spawn(Send(loop.ring(), pair.ours.get(), "fits", true, &result));
    loop.RunToEnd("a send that waits");
    CHECK(loop.ring()->counters().completions == 1);
    CHECK(loop.ring()->counters().sends == 2);
    CHECK(loop.ring()->counters().short_sends == 1);
  }
}

// Tries to send all of the pattern, then sends the rest with All, as often as it takes.
struct Sending {
  std::vector<std::int32_t> results;
  std::size_t sent_bytes = 0;
};

coro::Task<> TryThenAll(uring::Ring* ring, int fd, std::uint64_t seed, std::size_t total_bytes,
                        Sending* sending) {
  std::string text = uring_test::Pattern(seed, 0, total_bytes);
  uring::Sender sender(ring, fd);
  iovec piece = {.iov_base = text.data(), .iov_len = text.size()};
  const std::int32_t tried = co_await sender.Try(std::span(&piece, 1), uring::Then::kGoesOn);
  sending->results.push_back(tried);
  if (tried < 0) co_return;
  sending->sent_bytes = static_cast<std::size_t>(tried);
  while (sending->sent_bytes < total_bytes) {
    piece = {.iov_base = text.data() + sending->sent_bytes,
             .iov_len = total_bytes - sending->sent_bytes};
    const std::int32_t sent = co_await sender.All(std::span(&piece, 1));
    sending->results.push_back(sent);
    if (sent <= 0) co_return;
    sending->sent_bytes += static_cast<std::size_t>(sent);
  }
}

TEST_CASE("a Try that does not fit reports exactly what was taken and All sends the rest") {
  constexpr std::size_t kBytes = 3'000'000;
  std::uint64_t seed = std::random_device{}();
  for (const Mode& mode : kModes) {
    for (const Family family : kFamilies) {
      CAPTURE(std::string(mode.name));
      CAPTURE(++seed);
      Loop loop(mode);
      const Pair pair = Connect(family, 20'000);
      Sending sending;
      loop.Spawn(TryThenAll(loop.ring(), pair.ours.get(), seed, kBytes, &sending));
      loop.PollUntil([&] { return !sending.results.empty(); }, "a short Try");
      REQUIRE(sending.results.size() == 1);
      CHECK(sending.results[0] > 0);
      CHECK(sending.results[0] < 1'000'000);
      std::string got;
      std::thread peer([&] { got = uring_test::ReadBytes(pair.theirs.get(), kBytes); });
      loop.RunToEnd("the rest");
      peer.join();
      CHECK(sending.results.size() == 2);  // One All is enough: it goes on until all is sent.
      CHECK(sending.sent_bytes == kBytes);
      CHECK(uring_test::FindDifference(seed, 0, got) == std::string::npos);
    }
  }
}

TEST_CASE("a Try on a full socket takes nothing and is no error") {
  for (const Mode& mode : kModes) {
    for (const Family family : kFamilies) {
      CAPTURE(std::string(mode.name));
      Loop loop(mode);
      const Pair pair = Connect(family, 20'000);
      const std::string filling(4096, 'x');
      while (send(pair.ours.get(), filling.data(), filling.size(), MSG_DONTWAIT) > 0) {
      }
      for (int attempt = 0; attempt < 3; ++attempt) {
        int result = kNone;
        loop.Spawn(Send(loop.ring(), pair.ours.get(), "no room", false, &result));
        loop.PollUntil([&] { return result != kNone; }, "a Try on a full socket");
        CHECK(result == 0);
      }
    }
  }
}

coro::Task<> SendPieces(uring::Ring* ring, int fd, std::span<iovec> pieces, bool waits,
                        int* result) {
  uring::Sender sender(ring, fd);
  if (waits) {
    *result = co_await sender.All(pieces);
  } else {
    *result = co_await sender.Try(pieces, uring::Then::kGoesOn);
  }
}

TEST_CASE("as many pieces as are allowed go out in order with empty ones among them") {
  std::mt19937_64 random(std::random_device{}());
  for (const Mode& mode : kModes) {
    for (const bool waits : {false, true}) {
      CAPTURE(std::string(mode.name));
      Loop loop(mode);
      const Pair pair = Connect(Family::kTcp);
      std::vector<iovec> pieces(uring::Sender::kPieceCountMax);
      std::string text = uring_test::Pattern(3, 0, 100 * pieces.size());
      std::size_t total_bytes = 0;
      for (iovec& piece : pieces) {
        piece = {.iov_base = text.data() + total_bytes, .iov_len = random() % 100};
        total_bytes += piece.iov_len;
      }
      int result = kNone;
      loop.Spawn(SendPieces(loop.ring(), pair.ours.get(), pieces, waits, &result));
      loop.PollUntil([&] { return result != kNone; }, "many pieces");
      CHECK(result == static_cast<int>(total_bytes));
      CHECK(uring_test::ReadBytes(pair.theirs.get(), total_bytes) == text.substr(0, total_bytes));
    }
  }
}

TEST_CASE("more pieces than are allowed fail and the ring goes on") {
#ifdef NDEBUG  // In debug builds a DEBUG_ENSURE stops the program.
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    const Pair pair = Connect(Family::kTcp);
    std::vector<iovec> pieces(uring::Sender::kPieceCountMax + 1);
    int result = kNone;
    loop.Spawn(SendPieces(loop.ring(), pair.ours.get(), pieces, false, &result));
    loop.PollUntil([&] { return result != kNone; }, "too many pieces");
    CHECK(result == -EMSGSIZE);
    loop.Spawn(Send(loop.ring(), pair.ours.get(), "goes on", false, &result));
    loop.PollUntil([&] { return result != -EMSGSIZE; }, "a send afterwards");
    CHECK(result == 7);
  }
#endif
}

TEST_CASE("sending no pieces does not suspend and pieces without bytes send nothing") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    const Pair pair = Connect(Family::kTcp);
    int result = kNone;
    loop.Spawn(SendPieces(loop.ring(), pair.ours.get(), {}, false, &result));
    CHECK(result == 0);
    std::array<iovec, 3> empty{};
    for (const bool waits : {false, true}) {
      result = kNone;
      loop.Spawn(SendPieces(loop.ring(), pair.ours.get(), empty, waits, &result));
      loop.PollUntil([&] { return result != kNone; }, "empty pieces");
      CHECK(result == 0);
    }
  }
}

TEST_CASE("a thousand connections send in one turn through a submission queue of eight") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    uring::RingOptions options = SmallRing(mode);
    options.sq_entries = 8;
    options.cq_entries = 16;
    Loop loop(options);
    std::vector<Pair> pairs;
    std::vector<int> results(1000, kNone);
    for (std::size_t index = 0; index < results.size(); ++index) {
      pairs.push_back(Connect(Family::kUnix));
      loop.Spawn(Send(loop.ring(), pairs.back().ours.get(), std::to_string(index), false,
                      &results[index]));
    }
    loop.PollUntil([&] { return loop.spawner()->live_count() == 0; }, "a thousand sends");
    for (std::size_t index = 0; index < results.size(); ++index) {
      const std::string expected = std::to_string(index);
      REQUIRE(results[index] == static_cast<int>(expected.size()));
      REQUIRE(uring_test::ReadBytes(pairs[index].theirs.get(), expected.size()) == expected);
    }
    CHECK(loop.ring()->counters().sends == 1000);
  }
}

TEST_CASE("many short sends that overrun the completion queue are all reported exactly") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    uring::RingOptions options = SmallRing(mode);
    options.sq_entries = 8;
    options.cq_entries = 8;
    Loop loop(options);
    std::vector<Pair> pairs;
    std::vector<int> results(300, kNone);
    for (std::size_t index = 0; index < results.size(); ++index) {
      pairs.push_back(Connect(Family::kUnix, 5000));
      loop.Spawn(Send(loop.ring(), pairs.back().ours.get(),
                      uring_test::Pattern(index, 0, index % 3 == 0 ? 100 : 60'000), false,
                      &results[index]));
    }
    loop.PollUntil([&] { return loop.spawner()->live_count() == 0; }, "short sends");
    for (std::size_t index = 0; index < results.size(); ++index) {
      CAPTURE(index);
      pairs[index].ours.Close();
      const std::string got = uring_test::ReadToEnd(pairs[index].theirs.get());
      REQUIRE(results[index] == static_cast<int>(got.size()));
      REQUIRE(uring_test::FindDifference(index, 0, got) == std::string::npos);
      REQUIRE((index % 3 == 0) == (got.size() == 100));
    }
    CHECK(loop.ring()->counters().cq_overflows > 0);
  }
}

coro::Task<> NoteOrder(uring::Ring* ring, int fd, std::string text, int number,
                       std::vector<int>* order) {
  int result = kNone;
  co_await Send(ring, fd, std::move(text), false, &result);
  order->push_back(number);
}

TEST_CASE("short sends are resumed before the whole ones of their turn") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    const std::array<Pair, 3> pairs = {Connect(Family::kUnix), Connect(Family::kUnix, 5000),
                                       Connect(Family::kUnix)};
    std::vector<int> order;
    const std::string lengthy(1'000'000, 'x');
    loop.Spawn(NoteOrder(loop.ring(), pairs[0].ours.get(), "whole", 0, &order));
    loop.Spawn(NoteOrder(loop.ring(), pairs[1].ours.get(), lengthy, 1, &order));
    loop.Spawn(NoteOrder(loop.ring(), pairs[2].ours.get(), "whole", 2, &order));
    loop.PollUntil([&] { return order.size() == 3; }, "three sends");
    CHECK(order == std::vector<int>{1, 0, 2});
  }
}

}  // namespace

namespace {

// Sends once and says so; afterwards it has nothing to wait for.
coro::Task<> TryOnce(uring::Ring* ring, int fd, uring::Then then, bool* has_gone_on) {
  std::string text = "x";
  uring::Sender sender(ring, fd);
  iovec piece = {.iov_base = text.data(), .iov_len = text.size()};
  const std::int32_t taken_bytes = co_await sender.Try(std::span(&piece, 1), then);
  *has_gone_on = taken_bytes == 1;
}

}  // namespace

TEST_CASE("a coroutine that goes on after a send is not left asleep by its silent success") {
  for (const Mode& mode : kModes) {
    CAPTURE(mode.name);
    Loop loop(mode);
    const uring_test::Pair sockets = uring_test::Connect(Family::kTcp);
    bool has_gone_on = false;
    loop.Spawn(TryOnce(loop.ring(), sockets.ours.get(), uring::Then::kGoesOn, &has_gone_on));
    // Nothing else will ever complete: if the ring waited here, the test would hang.
    loop.ring()->Enter(uring::Wait::kYes);
    loop.ring()->ResumeReady();
    CHECK(has_gone_on);
  }
}

TEST_CASE("a wake-up from outside in the turn of a send does not keep its silent success back") {
  for (const Mode& mode : kModes) {
    CAPTURE(mode.name);
    Loop loop(mode);
    loop.PollTurn();  // The ring listens for wake-ups.
    const uring_test::Pair sockets = uring_test::Connect(Family::kTcp);
    bool has_gone_on = false;
    loop.Spawn(TryOnce(loop.ring(), sockets.ours.get(), uring::Then::kGoesOn, &has_gone_on));
    loop.ring()->WakeFromOutside();
    loop.WaitTurn();  // Takes the wake-up in, and queues that it listens for the next.
    CHECK(has_gone_on);
    CHECK_FALSE(loop.ring()->has_unsettled_sends());
  }
}
