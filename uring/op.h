// Op: one request in the kernel's hands.
//
// It lives in the frame of the coroutine that awaits it; its address is the request's user_data. A
// completion is first taken in (handler: it notes results, and marks the op ready) and only after
// all completions of the turn have been taken in are the waiting coroutines resumed. An op may be
// held by the kernel more than once (itself, and a cancellation of it); it may not die before all
// holds have come back and the ring has taken it off its list of ops to resume.
//
// Owner: the awaiting coroutine's frame. Threads: the ring's thread only.
#pragma once

#include <coroutine>
#include <cstdint>

#include "coro/ensure.h"

namespace uring {

class Op {
 public:
  // Takes one completion in. `flags` are the CQE's.
  using Handler = void (*)(Op* op, std::int32_t result, std::uint32_t flags);

  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  // It may not die: the kernel still holds it, or the ring has not yet resumed who waits for it.
  [[nodiscard]] bool in_flight() const { return is_held() || is_queued_; }

 protected:
  explicit Op(Handler handler) : handler_(handler) {}
  ~Op() { ENSURE(!in_flight()); }

  // The kernel's: its completion, or the answer to its cancellation, is to come.
  [[nodiscard]] bool is_held() const { return holds_ != 0; }

  std::coroutine_handle<> waiter_;

 private:
  friend class Ring;

  Handler handler_;
  Op* next_ready_ = nullptr;
  std::uint8_t holds_ = 0;
  bool is_queued_ = false;        // In the ring's list of ops to resume.
  bool cancel_is_asked_ = false;  // A cancellation is under way.
};

}  // namespace uring
