#include "coro/resume.h"

#include <doctest/doctest.h>

#include <vector>

#include "coro/event.h"
#include "coro/spawn.h"
#include "coro/task.h"

namespace {

using coro::Task;

Task<> Leaf(coro::Event* event, std::vector<int>* order, int number) {
  co_await event->Wait();
  order->push_back(number);
}

Task<> Parent(coro::Event* event, std::vector<int>* order, int number) {
  co_await Leaf(event, order, number);
  order->push_back(number + 1);
}

Task<> RunOthers(coro::Spawner* spawner, std::vector<int>* order) {
  coro::Event inner;
  spawner->Spawn(Parent(&inner, order, 10));
  spawner->Spawn(Parent(&inner, order, 20));
  order->push_back(1);
  inner.Set();  // Both run to their ends, children and parents, within this coroutine.
  order->push_back(2);
  co_return;
}

Task<> Outer(coro::Spawner* spawner, std::vector<int>* order) {
  co_await RunOthers(spawner, order);
  order->push_back(3);
}

TEST_CASE("a running coroutine may run others to their ends and then goes on itself") {
  coro::Spawner spawner;
  std::vector<int> order;
  spawner.Spawn(Outer(&spawner, &order));
  CHECK(order == std::vector<int>{1, 10, 11, 20, 21, 2, 3});
  CHECK(spawner.live_count() == 0);
}

TEST_CASE("nothing is handed over when no coroutine runs") {
  coro::Spawner spawner;
  std::vector<int> order;
  spawner.Spawn(Outer(&spawner, &order));
  CHECK_FALSE(coro::handed_over);
  coro::Resume(nullptr);
}

}  // namespace
