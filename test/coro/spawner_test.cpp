#include <doctest/doctest.h>

#include <csignal>
#include <vector>

#include "coro/event.h"
#include "coro/spawn.h"
#include "coro/task.h"
#include "test/process/child.h"

namespace {

using coro::Task;

Task<> Wait(coro::Event* event, int* step) {
  *step = 1;
  co_await event->Wait();
  *step = 2;
}

TEST_CASE("a root runs until it first suspends and counts as live until it ends") {
  coro::Spawner spawner;
  coro::Event event;
  int step = 0;
  CHECK(spawner.live_count() == 0);
  spawner.Spawn(Wait(&event, &step));
  CHECK(step == 1);
  CHECK(spawner.live_count() == 1);
  event.Set();
  CHECK(step == 2);
  CHECK(spawner.live_count() == 0);
}

Task<> End() { co_return; }

TEST_CASE("a root that never suspends has ended when Spawn returns") {
  coro::Spawner spawner;
  for (int index = 0; index < 1000; ++index) spawner.Spawn(End());
  CHECK(spawner.live_count() == 0);
}

Task<> AwaitEmpty(coro::Spawner* spawner, int* passed_count) {
  co_await spawner->Empty();
  ++*passed_count;
}

TEST_CASE("waiting for an empty spawner does not suspend when it has no root") {
  coro::Spawner waiting;
  coro::Spawner spawner;
  int passed_count = 0;
  waiting.Spawn(AwaitEmpty(&spawner, &passed_count));
  CHECK(passed_count == 1);
  spawner.Spawn(End());
  waiting.Spawn(AwaitEmpty(&spawner, &passed_count));
  CHECK(passed_count == 2);
}

TEST_CASE("waiting for an empty spawner lasts until the last root has ended") {
  coro::Spawner waiting;
  coro::Spawner spawner;
  std::vector<coro::Event> events(3);
  int step = 0;
  for (coro::Event& event : events) spawner.Spawn(Wait(&event, &step));
  int passed_count = 0;
  waiting.Spawn(AwaitEmpty(&spawner, &passed_count));
  events[1].Set();
  events[2].Set();
  CHECK(passed_count == 0);
  CHECK(spawner.live_count() == 1);
  events[0].Set();
  CHECK(passed_count == 1);
  CHECK(waiting.live_count() == 0);
}

Task<> SpawnMore(coro::Spawner* spawner, int depth, int* ended_count) {
  if (depth != 0) {
    spawner->Spawn(SpawnMore(spawner, depth - 1, ended_count));
    spawner->Spawn(SpawnMore(spawner, depth - 1, ended_count));
  }
  ++*ended_count;
  co_return;
}

TEST_CASE("roots may spawn roots") {
  coro::Spawner spawner;
  int ended_count = 0;
  spawner.Spawn(SpawnMore(&spawner, 10, &ended_count));
  CHECK(ended_count == (1 << 11) - 1);
  CHECK(spawner.live_count() == 0);
}

Task<> SpawnWhenEmpty(coro::Spawner* spawner, coro::Event* event, int* step) {
  co_await spawner->Empty();
  event->Reset();
  spawner->Spawn(Wait(event, step));
}

TEST_CASE("who waits for an empty spawner may spawn the next root") {
  coro::Spawner waiting;
  coro::Spawner spawner;
  coro::Event event;
  int step = 0;
  spawner.Spawn(Wait(&event, &step));
  waiting.Spawn(SpawnWhenEmpty(&spawner, &event, &step));
  event.Set();
  CHECK(step == 1);
  CHECK(spawner.live_count() == 1);
  event.Set();
  CHECK(step == 2);
  CHECK(spawner.live_count() == 0);
}

// Notes what is alive when it goes.
class Guard {
 public:
  Guard(const coro::Spawner* spawner, std::size_t* seen) : spawner_(spawner), seen_(seen) {}
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { *seen_ = spawner_->live_count(); }

 private:
  const coro::Spawner* spawner_;
  std::size_t* seen_;
};

Task<> EndGuarded(const coro::Spawner* spawner, std::size_t* seen) {
  const Guard guard(spawner, seen);
  co_return;
}

TEST_CASE("a root's locals are gone before it no longer counts as live") {
  coro::Spawner spawner;
  std::size_t seen = 0;
  spawner.Spawn(EndGuarded(&spawner, &seen));
  CHECK(seen == 1);
}

TEST_CASE("a spawner that dies with a live root stops the program") {
  const process::ChildEnd end = process::RunInChild([] {
    static coro::Event event;
    static int step = 0;
    coro::Spawner spawner;
    spawner.Spawn(Wait(&event, &step));
    return 0;
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.output.find("ENSURE(live_count_ == 0) failed") != std::string::npos);
}

}  // namespace
