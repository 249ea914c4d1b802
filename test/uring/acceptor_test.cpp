#include "uring/acceptor.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "coro/ensure.h"
#include "coro/event.h"
#include "test/process/child.h"
#include "test/uring/harness.h"
#include "uring/timer.h"

namespace {

using uring_test::Descriptor;
using uring_test::kModes;
using uring_test::Loop;
using uring_test::Mode;
using uring_test::SmallRing;

// What an accepting coroutine did, and what it is asked to do.
struct Accepting {
  explicit Accepting(std::size_t count) : wanted_count(count) {}
  std::vector<Descriptor> sockets;
  std::vector<std::int32_t> errors;
  std::size_t wanted_count;
  bool has_stopped = false;
};

// Accepts until it has as many sockets as are wanted; after an error rests for a millisecond.
coro::Task<> Accept(uring::Ring* ring, int fd, Accepting* accepting) {
  uring::Acceptor acceptor(ring, fd);
  acceptor.Start();
  while (accepting->sockets.size() < accepting->wanted_count) {
    co_await acceptor.Wait();
    while (acceptor.has_news()) {
      const std::int32_t news = acceptor.TakeNews();
      if (news >= 0) accepting->sockets.emplace_back(news);
      if (news < 0) accepting->errors.push_back(news);
    }
    if (acceptor.is_armed() || accepting->sockets.size() >= accepting->wanted_count) continue;
    uring::Timer pause(ring);
    pause.Start(std::chrono::milliseconds(1));
    co_await pause.Wait();
    acceptor.Start();
  }
  acceptor.Stop();
  while (acceptor.in_flight()) co_await acceptor.Wait();
  accepting->has_stopped = true;
}

// Connects and sends the number of the connection, `first` and on.
std::vector<Descriptor> ConnectMany(std::uint16_t port, std::uint32_t first, std::uint32_t count) {
  std::vector<Descriptor> connections;
  for (std::uint32_t number = first; number < first + count; ++number) {
    connections.push_back(uring_test::ConnectTo(port));
    uring_test::WriteAll(connections.back().get(),
                         {reinterpret_cast<const char*>(&number), sizeof number});
  }
  return connections;
}

// The number that comes over an accepted socket.
std::uint32_t ReadNumber(const Descriptor& socket) {
  const std::string bytes = uring_test::ReadBytes(socket.get(), sizeof(std::uint32_t));
  std::uint32_t number = ~0U;
  if (bytes.size() == sizeof number) std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

std::set<std::uint32_t> ReadNumbers(const std::vector<Descriptor>& sockets) {
  std::set<std::uint32_t> numbers;
  for (const Descriptor& socket : sockets) numbers.insert(ReadNumber(socket));
  return numbers;
}

void AcceptBurst(const uring::RingOptions& options, std::uint32_t count) {
  Loop loop(options);
  std::uint16_t port = 0;
  const Descriptor listener = uring_test::Listen(&port);
  Accepting accepting(count);
  loop.Spawn(Accept(loop.ring(), listener.get(), &accepting));
  loop.PollTurn();
  const std::vector<Descriptor> connections = ConnectMany(port, 0, count);
  loop.RunToEnd("a burst of connections");
  CHECK(accepting.errors.empty());
  CHECK(accepting.sockets.size() == count);
  const std::set<std::uint32_t> numbers = ReadNumbers(accepting.sockets);
  CHECK(numbers.size() == count);
  CHECK(*numbers.rbegin() == count - 1);
}

TEST_CASE("a burst of a thousand connections is accepted whole") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    AcceptBurst(SmallRing(mode), 1000);
  }
}

TEST_CASE("a burst that overruns the completion queue is accepted whole") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    uring::RingOptions options = SmallRing(mode);
    options.sq_entries = 4;
    options.cq_entries = 4;
    AcceptBurst(options, 300);
  }
}

TEST_CASE("connections that come while the ring is busy accepting are all accepted") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    std::uint16_t port = 0;
    const Descriptor listener = uring_test::Listen(&port);
    Accepting accepting(500);
    loop.Spawn(Accept(loop.ring(), listener.get(), &accepting));
    std::vector<Descriptor> connections;
    std::thread peer([&] { connections = ConnectMany(port, 0, 500); });
    loop.RunToEnd("connections one after the other");
    peer.join();
    CHECK(ReadNumbers(accepting.sockets).size() == 500);
  }
}

TEST_CASE("accepted sockets are closed when a program is executed") {
  Loop loop(kModes[0]);
  std::uint16_t port = 0;
  const Descriptor listener = uring_test::Listen(&port);
  Accepting accepting(1);
  loop.Spawn(Accept(loop.ring(), listener.get(), &accepting));
  const Descriptor connection = uring_test::ConnectTo(port);
  loop.RunToEnd("a connection");
  CHECK((fcntl(accepting.sockets[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
}

// In a child: accepts until no descriptor is left, then gives some back and goes on.
int AcceptWithoutDescriptors(const Mode& mode) {
  Loop loop(mode);
  std::uint16_t port = 0;
  const Descriptor listener = uring_test::Listen(&port);
  constexpr std::uint32_t kCount = 40;
  const std::vector<Descriptor> connections = ConnectMany(port, 0, kCount);
  Descriptor probe(dup(listener.get()));
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = static_cast<rlim_t>(probe.get()) + 10;
  ENSURE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  probe.Close();
  Accepting accepting(kCount);
  loop.Spawn(Accept(loop.ring(), listener.get(), &accepting));
  loop.RunUntil([&] { return accepting.errors.size() >= 3; }, "EMFILE three times");
  ENSURE(accepting.sockets.size() == 10);
  for (const std::int32_t error : accepting.errors) ENSURE(error == -EMFILE);
  std::set<std::uint32_t> numbers;
  std::size_t served_count = 0;
  const auto serve = [&] {
    for (; served_count < accepting.sockets.size(); ++served_count) {
      numbers.insert(ReadNumber(accepting.sockets[served_count]));
      accepting.sockets[served_count].Close();
    }
    return loop.spawner()->live_count() == 0;
  };
  loop.RunUntil(serve, "accepting after EMFILE");
  return numbers.size() == kCount ? 0 : 1;
}

TEST_CASE("accepting without a descriptor left reports EMFILE and goes on when there are some") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    const process::ChildEnd end =
        process::RunInChild([&mode] { return AcceptWithoutDescriptors(mode); });
    CAPTURE(end.output);
    CHECK(end.exit_status == 0);
  }
}

TEST_CASE("a listening socket set to non-blocking is accepted from all the same") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    std::uint16_t port = 0;
    const Descriptor listener = uring_test::Listen(&port);
    REQUIRE(fcntl(listener.get(), F_SETFL, O_NONBLOCK) == 0);
    Accepting accepting(3);
    loop.Spawn(Accept(loop.ring(), listener.get(), &accepting));
    for (int turn = 0; turn < 5; ++turn) loop.PollTurn();
    const std::vector<Descriptor> connections = ConnectMany(port, 0, 3);
    loop.RunToEnd("three connections");
    CHECK(accepting.errors.empty());
  }
}

coro::Task<> WaitForNudge(uring::Acceptor* acceptor, bool* was_nudged) {
  co_await acceptor->Wait();
  *was_nudged = true;
}

TEST_CASE("a nudge resumes who waits for a connection") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    std::uint16_t port = 0;
    const Descriptor listener = uring_test::Listen(&port);
    uring::Acceptor acceptor(loop.ring(), listener.get());
    bool was_nudged = false;
    loop.Spawn(WaitForNudge(&acceptor, &was_nudged));
    loop.PollTurn();
    CHECK_FALSE(was_nudged);
    acceptor.Nudge();
    CHECK_FALSE(was_nudged);
    loop.WaitTurn();  // Does not sleep: there is someone to resume.
    CHECK(was_nudged);
  }
}

coro::Task<> AcceptAfterRestart(uring::Ring* ring, int fd, int turn_count, std::int32_t* news) {
  uring::Acceptor acceptor(ring, fd);
  acceptor.Start();
  for (int turn = 0; turn < turn_count; ++turn) {
    acceptor.Nudge();
    co_await acceptor.Wait();
  }
  acceptor.Stop();
  acceptor.Start();  // The cancellation is still under way.
  while (!acceptor.has_news()) co_await acceptor.Wait();
  *news = acceptor.TakeNews();
  acceptor.Stop();
  while (acceptor.in_flight()) co_await acceptor.Wait();
}

TEST_CASE("an acceptor stopped and started again at once goes on accepting") {
  for (const Mode& mode : kModes) {
    for (const int turn_count : {0, 1, 3}) {
      CAPTURE(std::string(mode.name));
      CAPTURE(turn_count);
      Loop loop(mode);
      std::uint16_t port = 0;
      const Descriptor listener = uring_test::Listen(&port);
      std::int32_t news = -1;
      loop.Spawn(AcceptAfterRestart(loop.ring(), listener.get(), turn_count, &news));
      for (int turn = 0; turn < 10; ++turn) loop.PollTurn();
      const std::vector<Descriptor> connections = ConnectMany(port, 0, 1);
      loop.RunToEnd("a connection after the restart");
      CHECK(news >= 0);
      close(news);
    }
  }
}

}  // namespace
