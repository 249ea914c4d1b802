// Mailbox: messages from any thread to a coroutine of one ring's thread.
//
//   uring::Mailbox<NewSocket> mailbox(&ring);                   // in the receiving thread
//   mailbox.Post(&my_ring, NewSocket{fd});                      // in another, which has a ring of
//   its own while (!mailbox.Take(&message)) co_await mailbox.Wait();    // back in the receiving
//   thread
//
// The queue is a vector under a mutex, held for a push or a swap: mail is rare (a new connection,
// an order to stop), so nothing cleverer is owed. The receiver is woken by a message to its ring
// (MSG_RING), or through an eventfd where the kernel has no such message or the sender has no ring.
//
// Owner: the receiving thread; it outlives all senders. Threads: Post from any, the rest from the
// ring's.
#pragma once

#include <coroutine>
#include <deque>
#include <mutex>
#include <utility>

#include "uring/op.h"
#include "uring/ring.h"

namespace uring {

// What a ring knows of a mailbox.
class Mail : public Op {
 public:
  class Awaiter {
   public:
    explicit Awaiter(Mail* mail) : mail_(mail) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiter) noexcept { mail_->waiter_ = waiter; }
    void await_resume() const noexcept {}

   private:
    Mail* mail_;
  };
  // Resumes at the next wake-up of the ring.
  [[nodiscard]] Awaiter Wait() { return Awaiter(this); }

 protected:
  explicit Mail(Ring* ring) : Op(nullptr), ring_(ring) { ring->AddMail(this); }
  ~Mail() { ring_->ForgetMail(this); }

  // `from`: the calling thread's ring, or null.
  void WakeReceiver(Ring* from) {
    if (from == nullptr) return ring_->WakeFromOutside();
    from->WakeOther(ring_);
  }

 private:
  Ring* ring_;
};

template <typename Message>
class Mailbox : public Mail {
 public:
  explicit Mailbox(Ring* ring) : Mail(ring) {}

  void Post(Ring* from, Message message) {
    {
      const std::lock_guard lock(mutex_);
      arrived_.push_back(std::move(message));
    }
    WakeReceiver(from);
  }

  // Takes the oldest message; false when there is none.
  bool Take(Message* message) {
    if (taken_.empty()) {
      const std::lock_guard lock(mutex_);
      taken_.swap(arrived_);
    }
    if (taken_.empty()) return false;
    *message = std::move(taken_.front());
    taken_.pop_front();
    return true;
  }

 private:
  std::mutex mutex_;
  std::deque<Message> arrived_;  // Guarded by mutex_.
  std::deque<Message> taken_;    // The receiving thread's.
};

}  // namespace uring
