#include "coro/task.h"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "coro/event.h"
#include "coro/spawn.h"
#include "test/process/child.h"

namespace {

using coro::Task;

// Counts what is alive of it, and what became of it.
class Traced {
 public:
  explicit Traced(int* live_count) : live_count_(live_count) { ++*live_count_; }
  Traced(const Traced& other) : live_count_(other.live_count_), copies_(other.copies_ + 1) {
    ++*live_count_;
  }
  Traced(Traced&& other) noexcept : live_count_(other.live_count_), copies_(other.copies_) {
    ++*live_count_;
  }
  Traced& operator=(const Traced&) = delete;
  Traced& operator=(Traced&&) = delete;
  ~Traced() { --*live_count_; }

  [[nodiscard]] int copies() const { return copies_; }

 private:
  int* live_count_;
  int copies_ = 0;
};

// Runs a task to its end and hands out its result.
template <typename T>
Task<> Keep(Task<T> task, std::unique_ptr<T>* result) {
  T value = co_await std::move(task);
  *result = std::make_unique<T>(std::move(value));
}

template <typename T>
T RunToEnd(Task<T> task) {
  std::unique_ptr<T> result;
  coro::Spawner spawner;
  spawner.Spawn(Keep(std::move(task), &result));
  REQUIRE(spawner.live_count() == 0);
  return std::move(*result);
}

Task<> Mark(bool* has_run) {
  *has_run = true;
  co_return;
}

Task<> AwaitLater(Task<> child, bool* has_run, bool* had_run_before) {
  *had_run_before = *has_run;
  co_await std::move(child);
}

TEST_CASE("nothing of a task runs before it is awaited") {
  bool has_run = false;
  bool had_run_before = true;
  coro::Spawner spawner;
  Task<> task = Mark(&has_run);
  CHECK_FALSE(has_run);
  spawner.Spawn(AwaitLater(std::move(task), &has_run, &had_run_before));
  CHECK_FALSE(had_run_before);
  CHECK(has_run);
}

Task<> Hold(Traced) { co_return; }

TEST_CASE("a task that is never awaited frees its frame and its parameters") {
  int live_count = 0;
  {
    const Task<> task = Hold(Traced(&live_count));
    CHECK(live_count == 1);
  }
  CHECK(live_count == 0);
}

TEST_CASE("a moved task is owned by the new object alone") {
  int live_count = 0;
  {
    Task<> task = Hold(Traced(&live_count));
    const Task<> other = std::move(task);
    CHECK(live_count == 1);
  }
  CHECK(live_count == 0);
}

Task<int> Answer() { co_return 42; }
Task<std::string> Text() { co_return "a text that is longer than the small string buffer"; }
Task<std::unique_ptr<int>> Unique() { co_return std::make_unique<int>(7); }
Task<Traced> Trace(int* live_count) { co_return Traced(live_count); }

TEST_CASE("a result goes to the coroutine that awaits") {
  CHECK(RunToEnd(Answer()) == 42);
  CHECK(RunToEnd(Text()) == "a text that is longer than the small string buffer");
}

TEST_CASE("a result may be of a type that can only be moved") {
  const std::unique_ptr<int> result = RunToEnd(Unique());
  REQUIRE(result != nullptr);
  CHECK(*result == 7);
}

TEST_CASE("a result is never copied and needs no default constructor") {
  int live_count = 0;
  {
    const Traced result = RunToEnd(Trace(&live_count));
    CHECK(result.copies() == 0);
    CHECK(live_count == 1);
  }
  CHECK(live_count == 0);
}

Task<> CallAndNote(int* live_count, int* live_after) {
  co_await Hold(Traced(live_count));
  *live_after = *live_count;
}

TEST_CASE("an awaited task's frame is gone when the statement is over") {
  int live_count = 0;
  int live_after = -1;
  coro::Spawner spawner;
  spawner.Spawn(CallAndNote(&live_count, &live_after));
  CHECK(live_after == 0);
}

Task<int> WaitThenAnswer(coro::Event* event) {
  co_await event->Wait();
  co_return 3;
}

Task<> Sum(coro::Event* event, int* sum) {
  const int first = co_await WaitThenAnswer(event);
  *sum += first;
  event->Reset();
  const int second = co_await WaitThenAnswer(event);
  *sum += second;
}

TEST_CASE("a task goes on where a suspended child ended") {
  coro::Event event;
  coro::Spawner spawner;
  int sum = 0;
  spawner.Spawn(Sum(&event, &sum));
  CHECK(sum == 0);
  event.Set();
  CHECK(sum == 3);
  event.Set();
  CHECK(sum == 6);
}

Task<> Throw() {
  throw std::runtime_error("nobody may catch this");
  co_return;
}

TEST_CASE("an exception that leaves a task stops the program") {
  const process::ChildEnd end = process::RunInChild([] {
    coro::Spawner spawner;
    spawner.Spawn(Throw());
    return 0;
  });
  CHECK(end.signal == SIGABRT);
}

}  // namespace
