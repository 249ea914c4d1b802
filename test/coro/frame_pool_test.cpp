#include "coro/frame_pool.h"

#include <doctest/doctest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "coro/event.h"
#include "coro/spawn.h"
#include "coro/task.h"
#include "test/process/allocations.h"

namespace {

using coro::FramePool;
using coro::Task;

TEST_CASE("a returned frame is handed out again without malloc") {
  FramePool pool;
  void* first = pool.Take(100);
  CHECK(pool.malloc_count() == 1);
  pool.Return(first, 100);
  CHECK(pool.kept_bytes() == 128);
  void* second = pool.Take(65);  // The same class: 65 to 128 bytes.
  CHECK(second == first);
  CHECK(pool.malloc_count() == 1);
  CHECK(pool.kept_bytes() == 0);
  pool.Return(second, 65);
}

TEST_CASE("frames of another size class do not mix") {
  FramePool pool;
  void* small = pool.Take(64);
  pool.Return(small, 64);
  void* larger = pool.Take(65);
  CHECK(pool.malloc_count() == 2);
  std::memset(larger, 0xab, 128);
  pool.Return(larger, 65);
}

TEST_CASE("every size up to the limit is given in full and kept") {
  FramePool pool;
  for (std::size_t bytes = 1; bytes <= FramePool::kFrameBytesMax; ++bytes) {
    void* frame = pool.Take(bytes);
    std::memset(frame, 0xcd, bytes);
    pool.Return(frame, bytes);
  }
  CHECK(pool.malloc_count() == FramePool::kFrameBytesMax / FramePool::kStepBytes);
}

TEST_CASE("frames above the limit are not kept") {
  FramePool pool;
  for (int round = 0; round < 3; ++round) {
    void* frame = pool.Take(FramePool::kFrameBytesMax + 1);
    std::memset(frame, 0xef, FramePool::kFrameBytesMax + 1);
    pool.Return(frame, FramePool::kFrameBytesMax + 1);
    CHECK(pool.kept_bytes() == 0);
  }
  CHECK(pool.malloc_count() == 3);
}

TEST_CASE("a pool keeps no more than its bound") {
  FramePool pool;
  constexpr std::size_t kBytes = 1024;
  constexpr std::size_t kCount = FramePool::kKeptBytesMax / kBytes + 100;
  std::vector<void*> frames;
  for (std::size_t index = 0; index < kCount; ++index) frames.push_back(pool.Take(kBytes));
  for (void* frame : frames) {
    pool.Return(frame, kBytes);
    REQUIRE(pool.kept_bytes() <= FramePool::kKeptBytesMax);
  }
  CHECK(pool.kept_bytes() == FramePool::kKeptBytesMax);
}

TEST_CASE("a burst of one size does not crowd out the sizes that are in use") {
  FramePool pool;
  std::vector<void*> burst;
  for (std::size_t bytes = 0; bytes <= FramePool::kKeptBytesMax; bytes += 1024) {
    burst.push_back(pool.Take(1024));
  }
  for (void* frame : burst) pool.Return(frame, 1024);
  for (const std::size_t bytes : {64U, 256U, 2048U}) pool.Return(pool.Take(bytes), bytes);
  const std::uint64_t malloc_count = pool.malloc_count();
  for (int round = 0; round < 100; ++round) {
    for (const std::size_t bytes : {64U, 256U, 2048U}) pool.Return(pool.Take(bytes), bytes);
  }
  CHECK(pool.malloc_count() == malloc_count);
  CHECK(pool.kept_bytes() <= FramePool::kKeptBytesMax);
}

Task<int> Leaf(int value) { co_return value; }

Task<> Work(coro::Event* event, int* sum) {
  const int one = co_await Leaf(1);
  co_await event->Wait();
  const int two = co_await Leaf(2);
  *sum += one + two;
}

TEST_CASE("roots and children allocate nothing after warm-up") {
  coro::Spawner spawner;
  coro::Event event;
  int sum = 0;
  const auto work_once = [&] {
    event.Reset();
    for (int index = 0; index < 100; ++index) spawner.Spawn(Work(&event, &sum));
    event.Set();
  };
  work_once();
  const std::uint64_t pool_count = FramePool::Local().malloc_count();
  const std::uint64_t allocation_count = process::AllocationCount();
  for (int round = 0; round < 100; ++round) work_once();
  CHECK(FramePool::Local().malloc_count() == pool_count);
  CHECK(process::AllocationCount() == allocation_count);
  CHECK(sum == 101 * 300);
}

Task<> Idle(coro::Event* event) { co_await event->Wait(); }

TEST_CASE("the pool serves connections that come and go up to its bound") {
  coro::Spawner spawner;
  const auto come_and_go = [&spawner] {
    coro::Event event;
    for (int index = 0; index < 5000; ++index) spawner.Spawn(Idle(&event));
    event.Set();
  };
  come_and_go();
  const std::uint64_t pool_count = FramePool::Local().malloc_count();
  come_and_go();
  CHECK(FramePool::Local().malloc_count() == pool_count);
}

TEST_CASE("a frame may be freed by another thread and joins that thread's pool") {
  Task<int> task = Leaf(1);
  std::size_t kept_bytes = 0;
  std::uint64_t malloc_count = 1;
  std::thread([&] {
    {
      const Task<int> mine = std::move(task);
    }
    kept_bytes = FramePool::Local().kept_bytes();
    const Task<int> next = Leaf(2);
    malloc_count = FramePool::Local().malloc_count();
  }).join();
  CHECK(kept_bytes > 0);
  CHECK(malloc_count == 0);
}

TEST_CASE("threads that end give the frames they kept back to the system") {
  // The address sanitizer's leak check, at the end of the program, is what would fail.
  for (int round = 0; round < 10; ++round) {
    std::thread([] {
      std::vector<Task<int>> tasks;
      for (int index = 0; index < 1000; ++index) tasks.push_back(Leaf(index));
      tasks.clear();
      CHECK(FramePool::Local().kept_bytes() > 0);
    }).join();
  }
}

}  // namespace
