// Task: a coroutine that another coroutine awaits once, or that a Spawner runs as a root.
//
//   coro::Task<int> Child();
//   coro::Task<> Parent() { const int answer = co_await Child(); }
//
// Nothing of a task runs before it is awaited or spawned. The Task object owns the frame until then
// and while it is awaited; a spawned frame owns itself and goes when the coroutine ends. Results
// are moved out. Nothing may throw out of a task: that stops the program. Frames come from the
// thread's FramePool.
//
// Owner: the awaiting coroutine's frame. Threads: the one that started it, always.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "coro/ensure.h"
#include "coro/frame_pool.h"
#include "coro/resume.h"

namespace coro {

template <typename T = void>
class Task;

// Told when a root ends. The Spawner implements it.
class RootOwner {
 public:
  virtual void RootEnded() noexcept = 0;

 protected:
  ~RootOwner() = default;
};

class TaskPromiseBase {
 public:
  static void* operator new(std::size_t frame_bytes) {
    return FramePool::Local().Take(frame_bytes);
  }
  static void operator delete(void* frame, std::size_t frame_bytes) noexcept {
    FramePool::Local().Return(frame, frame_bytes);
  }

  struct FinalAwaiter {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      TaskPromiseBase& promise = ended.promise();
      if (promise.root_owner_ == nullptr) return HandOver(promise.parent_);
      RootOwner* owner = promise.root_owner_;
      ended.destroy();
      owner->RootEnded();
    }
    void await_resume() const noexcept {}
  };

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  [[nodiscard]] FinalAwaiter final_suspend() const noexcept { return {}; }
  [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }

  void set_parent(std::coroutine_handle<> parent) { parent_ = parent; }
  void set_root_owner(RootOwner* owner) { root_owner_ = owner; }

 private:
  std::coroutine_handle<> parent_;
  RootOwner* root_owner_ = nullptr;
};

template <typename T>
class TaskPromise : public TaskPromiseBase {
 public:
  Task<T> get_return_object() noexcept;
  template <typename U>
  void return_value(U&& value) {
    result_.emplace(std::forward<U>(value));
  }
  T TakeResult() { return std::move(*result_); }

 private:
  std::optional<T> result_;
};

template <>
class TaskPromise<void> : public TaskPromiseBase {
 public:
  Task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void TakeResult() const noexcept {}
};

template <typename T>
class [[nodiscard]] Task {
 public:
  using promise_type = TaskPromise<T>;

  explicit Task(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}
  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (coroutine_) coroutine_.destroy();
  }

  // Awaiting. A task is awaited at most once.
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> parent) noexcept {
    coroutine_.promise().set_parent(parent);
    HandOver(coroutine_);
  }
  T await_resume() { return coroutine_.promise().TakeResult(); }

  // Gives the frame up: it now belongs to itself and tells `owner` when the coroutine has ended.
  std::coroutine_handle<> Detach(RootOwner* owner) && {
    coroutine_.promise().set_root_owner(owner);
    return std::exchange(coroutine_, nullptr);
  }

 private:
  std::coroutine_handle<promise_type> coroutine_;
};

template <typename T>
Task<T> TaskPromise<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<TaskPromise<T>>::from_promise(*this));
}

inline Task<void> TaskPromise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<TaskPromise<void>>::from_promise(*this));
}

}  // namespace coro
