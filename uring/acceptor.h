// Acceptor: the sockets that a listening socket accepts, as they come (multishot accept).
//
// A failed accept (EMFILE, ENFILE, ENOMEM, ECONNABORTED ...) is handed on as a negative errno and
// ends the multishot; Start() arms it again, when the caller thinks it may succeed.
//
// Before the frame dies: Stop(), then await until in_flight() is false; sockets not taken by then
// are closed.
//
// Owner: the listener's frame. Threads: the ring's.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>

#include "uring/op.h"

namespace uring {

class Ring;

class Acceptor : public Op {
 public:
  Acceptor(Ring* ring, int fd) : Op(&TakeIn), ring_(ring), fd_(fd) {}
  ~Acceptor();

  void Start();
  void Stop();
  [[nodiscard]] bool is_armed() const { return is_armed_; }

  // The next socket (a descriptor), or a negative errno; only while has_news().
  [[nodiscard]] bool has_news() const { return !news_.empty(); }
  std::int32_t TakeNews();

  class Awaiter {
   public:
    explicit Awaiter(Acceptor* acceptor) : acceptor_(acceptor) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiter) noexcept { acceptor_->waiter_ = waiter; }
    void await_resume() const noexcept {}

   private:
    Acceptor* acceptor_;
  };
  // Resumes at the next news, when a stop has come through, or when nudged. Look first whether
  // has_news().
  [[nodiscard]] Awaiter Wait() { return Awaiter(this); }
  void Nudge();

  [[nodiscard]] int fd() const { return fd_; }

 private:
  friend class Ring;
  static void TakeIn(Op* op, std::int32_t result, std::uint32_t flags);

  Ring* ring_;
  int fd_;
  std::deque<std::int32_t> news_;
  bool is_armed_ = false;
  bool is_wanted_ = false;
};

}  // namespace uring
