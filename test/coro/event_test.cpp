#include "coro/event.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "coro/spawn.h"
#include "coro/task.h"
#include "test/process/child.h"

namespace {

using coro::Task;

Task<> Note(coro::Event* event, int number, std::vector<int>* order) {
  co_await event->Wait();
  order->push_back(number);
}

TEST_CASE("an event resumes its waiters in the order they came") {
  coro::Spawner spawner;
  coro::Event event;
  std::vector<int> order;
  for (const int number : {1, 2, 3}) spawner.Spawn(Note(&event, number, &order));
  CHECK(event.has_waiters());
  CHECK(order.empty());
  event.Set();
  CHECK(order == std::vector<int>{1, 2, 3});
  CHECK_FALSE(event.has_waiters());
}

TEST_CASE("waiting for an event that is set does not suspend") {
  coro::Spawner spawner;
  coro::Event event;
  std::vector<int> order;
  event.Set();
  spawner.Spawn(Note(&event, 1, &order));
  CHECK(order == std::vector<int>{1});
}

TEST_CASE("an event that was reset is waited for again") {
  coro::Spawner spawner;
  coro::Event event;
  std::vector<int> order;
  event.Set();
  event.Reset();
  CHECK_FALSE(event.is_set());
  spawner.Spawn(Note(&event, 1, &order));
  CHECK(order.empty());
  event.Set();
  CHECK(order == std::vector<int>{1});
}

TEST_CASE("setting a set event with no waiter changes nothing") {
  coro::Event event;
  event.Set();
  event.Set();
  CHECK(event.is_set());
}

Task<> NoteTwice(coro::Event* event, std::vector<int>* order) {
  co_await event->Wait();
  order->push_back(1);
  event->Reset();
  co_await event->Wait();
  order->push_back(2);
}

TEST_CASE("who waits again while the event resumes its waiters is left for the next Set") {
  coro::Spawner spawner;
  coro::Event event;
  std::vector<int> order;
  spawner.Spawn(NoteTwice(&event, &order));
  spawner.Spawn(Note(&event, 3, &order));
  event.Set();
  CHECK(order == std::vector<int>{1, 3});
  CHECK(event.has_waiters());
  event.Set();
  CHECK(order == std::vector<int>{1, 3, 2});
}

Task<> SetOther(coro::Event* event, coro::Event* other, std::vector<int>* order) {
  co_await event->Wait();
  order->push_back(1);
  other->Set();
  order->push_back(3);
}

TEST_CASE("a waiter may set another event and goes on when its waiters have run") {
  coro::Spawner spawner;
  coro::Event event;
  coro::Event other;
  std::vector<int> order;
  spawner.Spawn(SetOther(&event, &other, &order));
  spawner.Spawn(Note(&other, 2, &order));
  event.Set();
  CHECK(order == std::vector<int>{1, 2, 3});
}

Task<> SetSame(coro::Event* event, std::vector<int>* order) {
  co_await event->Wait();
  order->push_back(1);
  event->Reset();
  event->Set();
  order->push_back(2);
}

TEST_CASE("a waiter may set the event that resumes it") {
  coro::Spawner spawner;
  coro::Event event;
  std::vector<int> order;
  spawner.Spawn(SetSame(&event, &order));
  spawner.Spawn(Note(&event, 3, &order));
  event.Set();
  CHECK(order == std::vector<int>{1, 2, 3});
}

Task<> SpawnWaiter(coro::Spawner* spawner, coro::Event* event, std::vector<int>* order) {
  co_await event->Wait();
  spawner->Spawn(Note(event, 2, order));
  order->push_back(1);
}

TEST_CASE("a waiter that comes while the event is being set does not suspend") {
  coro::Spawner spawner;
  coro::Event event;
  std::vector<int> order;
  spawner.Spawn(SpawnWaiter(&spawner, &event, &order));
  event.Set();
  CHECK(order == std::vector<int>{2, 1});
}

Task<> Destroy(std::unique_ptr<coro::Event>* event, bool* has_gone) {
  co_await (*event)->Wait();
  event->reset();
  *has_gone = true;
}

TEST_CASE("the last waiter may destroy the event") {
  coro::Spawner spawner;
  auto event = std::make_unique<coro::Event>();
  bool has_gone = false;
  spawner.Spawn(Destroy(&event, &has_gone));
  event->Set();
  CHECK(has_gone);
}

TEST_CASE("a hundred thousand waiters are resumed one after the other") {
  coro::Spawner spawner;
  coro::Event event;
  std::vector<int> order;
  for (int number = 0; number < 100'000; ++number) spawner.Spawn(Note(&event, number, &order));
  event.Set();
  REQUIRE(order.size() == 100'000);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("an event that dies before its waiters stops the program") {
  const process::ChildEnd end = process::RunInChild([] {
    static coro::Spawner spawner;
    static std::vector<int> order;
    coro::Event event;
    spawner.Spawn(Note(&event, 1, &order));
    return 0;
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.output.find("ENSURE(first_ == nullptr) failed") != std::string::npos);
}

}  // namespace
