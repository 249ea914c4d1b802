// Timer and Poll: a coroutine waits for a time, or for a descriptor to be readable.
//
//   uring::Timer timer(&ring);
//   timer.Start(std::chrono::milliseconds(100));
//   co_await timer.Wait();                 // goes on when the time is over, or after Cancel()
//
// Owner: the awaiting coroutine's frame. Threads: the ring's.
#pragma once

#include <linux/time_types.h>

#include <chrono>
#include <coroutine>
#include <cstdint>

#include "uring/op.h"

namespace uring {

class Ring;

// An op that completes once; its awaiter.
class SingleOp : public Op {
 public:
  class Awaiter {
   public:
    explicit Awaiter(SingleOp* op) : op_(op) {}
    [[nodiscard]] bool await_ready() const noexcept { return !op_->in_flight(); }
    void await_suspend(std::coroutine_handle<> waiter) noexcept { op_->waiter_ = waiter; }
    // The operation's result: what the kernel said, a negative errno for a failure.
    std::int32_t await_resume() const noexcept { return op_->result_; }

   private:
    SingleOp* op_;
  };

  // Goes on when the operation is no longer in flight: it has ended or has been cancelled.
  [[nodiscard]] Awaiter Wait() { return Awaiter(this); }
  // Ends it early: it completes with -ECANCELED. Does nothing when it is not under way.
  void Cancel();

 protected:
  explicit SingleOp(Ring* ring) : Op(&TakeIn), ring_(ring) {}
  ~SingleOp() = default;

  Ring* ring_;
  std::int32_t result_ = 0;

 private:
  static void TakeIn(Op* op, std::int32_t result, std::uint32_t flags);
};

class Timer : public SingleOp {
 public:
  explicit Timer(Ring* ring) : SingleOp(ring) {}
  // Completes with -ETIME after `delay`. Not while under way.
  void Start(std::chrono::nanoseconds delay);

 private:
  friend class Ring;
  __kernel_timespec delay_{};
};

class Poll : public SingleOp {
 public:
  Poll(Ring* ring, int fd) : SingleOp(ring), fd_(fd) {}
  // Completes when the descriptor is readable. Not while under way.
  void Start();

 private:
  friend class Ring;
  int fd_;
};

}  // namespace uring
