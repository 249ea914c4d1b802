// Event: one thread's coroutines wait for something to be so.
//
// Set() makes it so and resumes everyone who waits, in the order they came, before it returns.
// Wait() does not suspend while the event is set. Reset() makes it not so again.
//
// Owner: whoever declares it; it must outlive its waiters. Threads: one.
#pragma once

#include <coroutine>

#include "coro/ensure.h"
#include "coro/resume.h"

namespace coro {

class Event {
 public:
  // One waiting coroutine; lives in its frame.
  class Waiter {
   public:
    explicit Waiter(Event* event) : event_(event) {}
    [[nodiscard]] bool await_ready() const noexcept { return event_->is_set_; }
    void await_suspend(std::coroutine_handle<> coroutine) noexcept {
      coroutine_ = coroutine;
      *event_->last_ = this;
      event_->last_ = &next_;
    }
    void await_resume() const noexcept {}

   private:
    friend class Event;
    Event* event_;
    std::coroutine_handle<> coroutine_;
    Waiter* next_ = nullptr;
  };

  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { ENSURE(first_ == nullptr); }

  [[nodiscard]] bool is_set() const { return is_set_; }
  [[nodiscard]] bool has_waiters() const { return first_ != nullptr; }
  [[nodiscard]] Waiter Wait() { return Waiter(this); }
  void Reset() { is_set_ = false; }

  void Set() {
    is_set_ = true;
    Waiter* waiter = first_;
    first_ = nullptr;
    last_ = &first_;
    while (waiter != nullptr) {
      Waiter* next = waiter->next_;  // Read first: the waiter dies when its coroutine goes on.
      Resume(waiter->coroutine_);
      waiter = next;
    }
  }

 private:
  Waiter* first_ = nullptr;
  Waiter** last_ = &first_;
  bool is_set_ = false;
};

}  // namespace coro
