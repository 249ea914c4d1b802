#include "uring/mailbox.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test/uring/harness.h"
#include "uring/timer.h"

namespace {

using uring_test::kModes;
using uring_test::Loop;
using uring_test::Mode;
using uring_test::SmallRing;

struct Message {
  std::uint32_t sender = 0;
  std::uint32_t number = 0;
};

// What came, and whether each sender's messages came in the order in which it posted them.
struct Inbox {
  explicit Inbox(std::size_t sender_count) : next_numbers(sender_count, 0) {}
  std::vector<std::uint32_t> next_numbers;
  std::size_t count = 0;
  bool is_ordered = true;
};

coro::Task<> TakeMessages(uring::Mailbox<Message>* mailbox, std::size_t count, Inbox* inbox) {
  Message message;
  while (inbox->count < count) {
    while (!mailbox->Take(&message)) co_await mailbox->Wait();
    std::uint32_t& next_number = inbox->next_numbers[message.sender];
    inbox->is_ordered = inbox->is_ordered && message.number == next_number;
    ++next_number;
    ++inbox->count;
  }
}

void PostFromOutside(uring::Mailbox<Message>* mailbox, std::uint32_t sender, std::uint32_t count) {
  for (std::uint32_t number = 0; number < count; ++number) {
    mailbox->Post(nullptr, {sender, number});
    if (number % 64 == 0) std::this_thread::yield();
  }
}

// Posts from a thread that has a ring of its own, some messages a turn.
void PostFromRing(const Mode* mode, uring::Mailbox<Message>* mailbox, std::uint32_t sender,
                  std::uint32_t count) {
  Loop loop(*mode);
  for (std::uint32_t number = 0; number < count; ++number) {
    mailbox->Post(loop.ring(), {sender, number});
    if (number % 7 == 0) loop.PollTurn();
  }
  loop.PollTurn();
}

TEST_CASE("no message of many threads with and without a ring is lost") {
  constexpr std::uint32_t kEach = 5000;
  constexpr std::uint32_t kSenders = 6;
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    uring::Mailbox<Message> mailbox(loop.ring());
    Inbox inbox(kSenders);
    loop.Spawn(TakeMessages(&mailbox, std::size_t{kSenders} * kEach, &inbox));
    std::vector<std::thread> threads;
    for (std::uint32_t sender = 0; sender < kSenders; ++sender) {
      if (sender % 2 == 0) {
        threads.emplace_back(PostFromOutside, &mailbox, sender, kEach);
      } else {
        threads.emplace_back(PostFromRing, &mode, &mailbox, sender, kEach);
      }
    }
    loop.RunToEnd("all messages");
    for (std::thread& thread : threads) thread.join();
    CHECK(inbox.count == std::size_t{kSenders} * kEach);
    CHECK(inbox.is_ordered);
  }
}

// One message at a time, there and back: each must wake a receiver that sleeps.
coro::Task<> Return(uring::Mailbox<int>* mine, uring::Mailbox<int>* yours, uring::Ring* ring,
                    bool has_ring, int count) {
  for (int round = 0; round < count; ++round) {
    int message = -1;
    while (!mine->Take(&message)) co_await mine->Wait();
    CHECK(message == round);
    yours->Post(has_ring ? ring : nullptr, message);
  }
}

coro::Task<> Serve(uring::Mailbox<int>* mine, uring::Mailbox<int>* yours, uring::Ring* ring,
                   bool has_ring, int count) {
  for (int round = 0; round < count; ++round) {
    yours->Post(has_ring ? ring : nullptr, round);
    int message = -1;
    while (!mine->Take(&message)) co_await mine->Wait();
    CHECK(message == round);
  }
}

TEST_CASE("every single message wakes a receiver that sleeps") {
  constexpr int kRounds = 2000;
  for (const Mode& mode : kModes) {
    for (const bool has_ring : {false, true}) {
      CAPTURE(std::string(mode.name));
      CAPTURE(has_ring);
      Loop loop(mode);
      uring::Mailbox<int> mine(loop.ring());
      std::atomic<uring::Mailbox<int>*> others = nullptr;
      std::atomic<bool> may_end = false;
      std::thread other([&] {
        Loop other_loop(mode);
        uring::Mailbox<int> mailbox(other_loop.ring());
        others.store(&mailbox);
        other_loop.Spawn(Return(&mailbox, &mine, other_loop.ring(), has_ring, kRounds));
        while (other_loop.spawner()->live_count() != 0) other_loop.WaitTurn();
        other_loop.PollTurn();  // Submits the last wake-up.
        while (!may_end.load()) std::this_thread::yield();
      });
      while (others.load() == nullptr) std::this_thread::yield();
      loop.Spawn(Serve(&mine, others.load(), loop.ring(), has_ring, kRounds));
      loop.RunToEnd("messages there and back");
      may_end.store(true);
      other.join();
    }
  }
}

coro::Task<> TakeBusily(uring::Ring* ring, uring::Mailbox<Message>* mailbox, std::size_t count,
                        Inbox* inbox) {
  Message message;
  while (inbox->count < count) {
    uring::Timer busy(ring);  // Wake-ups that come now find nobody waiting.
    busy.Start(std::chrono::microseconds(100));
    co_await busy.Wait();
    if (!mailbox->Take(&message)) {
      co_await mailbox->Wait();
      continue;
    }
    ++inbox->count;
    while (mailbox->Take(&message)) ++inbox->count;
  }
}

TEST_CASE("a message that comes while the receiver is busy is found when it looks") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    uring::Mailbox<Message> mailbox(loop.ring());
    Inbox inbox(1);
    loop.Spawn(TakeBusily(loop.ring(), &mailbox, 200, &inbox));
    std::thread sender([&] {
      Loop other(mode);
      for (std::uint32_t number = 0; number < 200; ++number) {
        mailbox.Post(number % 3 == 0 ? nullptr : other.ring(), {0, number});
        other.PollTurn();
        std::this_thread::sleep_for(std::chrono::microseconds(number % 200));
      }
    });
    loop.RunToEnd("messages to a busy receiver");
    sender.join();
    CHECK(inbox.count == 200);
  }
}

TEST_CASE("messages to an overrun completion queue are not lost") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    uring::RingOptions options = SmallRing(mode);
    options.sq_entries = 4;
    options.cq_entries = 4;
    Loop loop(options);
    uring::Mailbox<Message> mailbox(loop.ring());
    Inbox inbox(4);
    std::vector<std::unique_ptr<uring::Timer>> timers;
    for (int index = 0; index < 50; ++index) {
      timers.push_back(std::make_unique<uring::Timer>(loop.ring()));
      timers.back()->Start(std::chrono::microseconds(1));
    }
    loop.ring()->Enter(uring::Wait::kNo);
    loop.Spawn(TakeMessages(&mailbox, 4000, &inbox));
    std::vector<std::thread> threads;
    for (std::uint32_t sender = 0; sender < 4; ++sender) {
      threads.emplace_back(PostFromRing, &mode, &mailbox, sender, 1000);
    }
    loop.RunToEnd("messages to an overrun queue");
    for (std::thread& thread : threads) thread.join();
    loop.PollUntil(
        [&] {
          return !std::ranges::any_of(timers, [](const auto& timer) { return timer->in_flight(); });
        },
        "the timers");
    CHECK(inbox.count == 4000);
    CHECK(inbox.is_ordered);
  }
}

TEST_CASE("a thread may post to its own mailbox") {
  for (const Mode& mode : kModes) {
    for (const bool has_ring : {false, true}) {
      CAPTURE(std::string(mode.name));
      Loop loop(mode);
      uring::Mailbox<Message> mailbox(loop.ring());
      Inbox inbox(1);
      loop.Spawn(TakeMessages(&mailbox, 3, &inbox));
      for (std::uint32_t number = 0; number < 3; ++number) {
        mailbox.Post(has_ring ? loop.ring() : nullptr, {0, number});
      }
      loop.RunToEnd("messages to oneself");
      CHECK(inbox.is_ordered);
    }
  }
}

TEST_CASE("a message posted before the ring has turned once is found") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    uring::Mailbox<Message> mailbox(loop.ring());
    std::thread([&] { mailbox.Post(nullptr, {0, 0}); }).join();
    Inbox inbox(1);
    loop.WaitTurn();
    loop.Spawn(TakeMessages(&mailbox, 1, &inbox));
    CHECK(inbox.count == 1);
  }
}

TEST_CASE("one wake-up serves all mailboxes of a ring") {
  for (const Mode& mode : kModes) {
    CAPTURE(std::string(mode.name));
    Loop loop(mode);
    uring::Mailbox<Message> first(loop.ring());
    uring::Mailbox<Message> second(loop.ring());
    Inbox inbox_of_first(1);
    Inbox inbox_of_second(1);
    loop.Spawn(TakeMessages(&first, 1, &inbox_of_first));
    loop.Spawn(TakeMessages(&second, 1, &inbox_of_second));
    std::thread([&] {
      Loop other(mode);
      first.Post(other.ring(), {0, 0});
      second.Post(other.ring(), {0, 0});
      other.PollTurn();
    }).join();
    loop.RunToEnd("both messages");
  }
}

TEST_CASE("messages may be of a type that can only be moved") {
  Loop loop(kModes[0]);
  uring::Mailbox<std::unique_ptr<int>> mailbox(loop.ring());
  mailbox.Post(nullptr, std::make_unique<int>(5));
  std::unique_ptr<int> message;
  REQUIRE(mailbox.Take(&message));
  CHECK(*message == 5);
  CHECK_FALSE(mailbox.Take(&message));
  loop.PollTurn();
  loop.PollTurn();
}

}  // namespace
