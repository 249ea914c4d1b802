#include "uring/ring.h"

#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

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

// Resumed once for every nudge that found it waiting.
coro::Task<> NoteNudges(uring::Receiver* receiver, int number, std::vector<int>* order, int count) {
  for (int round = 0; round < count; ++round) {
    co_await receiver->Wait();
    order->push_back(number);
  }
}

TEST_CASE("ready ops are resumed in the order in which they became ready and once") {
  Loop loop(kModes[0]);
  uring::Receiver first(loop.ring(), -1);
  uring::Receiver second(loop.ring(), -1);
  std::vector<int> order;
  loop.Spawn(NoteNudges(&first, 1, &order, 2));
  loop.Spawn(NoteNudges(&second, 2, &order, 1));
  second.Nudge();
  first.Nudge();
  second.Nudge();
  CHECK(loop.ring()->has_ready());
  loop.ring()->ResumeReady();
  CHECK(order == std::vector<int>{2, 1});
  CHECK_FALSE(loop.ring()->has_ready());
  first.Nudge();
  loop.ring()->ResumeReady();
  CHECK(order == std::vector<int>{2, 1, 1});
}

TEST_CASE("resuming stops early when told to and the rest stay ready") {
  Loop loop(kModes[0]);
  uring::Receiver receivers[3] = {
      {loop.ring(), -1},
      {loop.ring(), -1},
      {loop.ring(), -1},
  };
  std::vector<int> order;
  for (int number = 0; number < 3; ++number) {
    loop.Spawn(NoteNudges(&receivers[number], number, &order, 1));
    receivers[number].Nudge();
  }
  loop.ring()->ResumeReady([&order] { return order.size() == 2; });
  CHECK(order == std::vector<int>{0, 1});
  CHECK(loop.ring()->has_ready());
  CHECK(receivers[2].in_flight());
  loop.WaitTurn();  // Does not sleep.
  CHECK(order == std::vector<int>{0, 1, 2});
}

coro::Task<> NudgeItself(uring::Receiver* receiver, int count, int* resumed_count) {
  for (int round = 0; round < count; ++round) {
    receiver->Nudge();
    co_await receiver->Wait();
    ++*resumed_count;
  }
}

TEST_CASE("an op that becomes ready while others are resumed waits for the next turn") {
  Loop loop(kModes[0]);
  uring::Receiver receiver(loop.ring(), -1);
  int resumed_count = 0;
  loop.Spawn(NudgeItself(&receiver, 3, &resumed_count));
  for (int turn = 1; turn <= 3; ++turn) {
    loop.WaitTurn();
    CHECK(resumed_count == turn);
  }
  CHECK(loop.spawner()->live_count() == 0);
}

std::atomic<int> signal_count = 0;

// Signals that interrupt every wait in the kernel, many times a millisecond.
class SignalStorm {
 public:
  SignalStorm() {
    struct sigaction action = {};
    action.sa_handler = [](int) { signal_count.fetch_add(1); };  // Without SA_RESTART.
    sigaction(SIGUSR1, &action, nullptr);
    thread_ = std::thread([this, target = pthread_self()] {
      while (!is_over_.load()) {
        pthread_kill(target, SIGUSR1);
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    });
  }
  SignalStorm(const SignalStorm&) = delete;
  SignalStorm& operator=(const SignalStorm&) = delete;
  ~SignalStorm() {
    is_over_.store(true);
    thread_.join();
    std::signal(SIGUSR1, SIG_DFL);
  }

 private:
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

TEST_CASE("signals that interrupt the wait lose nothing") {
  constexpr std::size_t kBytes = 300'000;
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    Pair pair = Connect(Family::kTcp);
    Received received;
    loop.Spawn(uring_test::ReceiveToEnd(loop.ring(), pair.ours.get(), &received));
    {
      const SignalStorm storm;
      std::thread peer([&pair] {
        for (std::size_t sent = 0; sent < kBytes; sent += 3000) {
          uring_test::WriteAll(pair.theirs.get(), uring_test::Pattern(8, sent, 3000));
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        pair.theirs.Close();
      });
      loop.RunToEnd("bytes among signals");
      peer.join();
    }
    CHECK(signal_count.load() > 0);
    CHECK(received.bytes.size() == kBytes);
    CHECK(uring_test::FindDifference(8, 0, received.bytes) == std::string::npos);
  }
}

TEST_CASE("a wait that a signal ends returns with nothing and the next goes on") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    uring::Timer timer(loop.ring());
    timer.Start(std::chrono::seconds(3600));
    {
      const SignalStorm storm;
      const process::Deadline deadline("a signal");
      loop.ring()->Enter(uring::Wait::kYes);  // Would last an hour.
      loop.ring()->Enter(uring::Wait::kYes);
    }
    CHECK(loop.ring()->counters().completions == 0);
    timer.Cancel();
    loop.PollUntil([&timer] { return !timer.in_flight(); }, "the cancellation");
  }
}

}  // namespace
