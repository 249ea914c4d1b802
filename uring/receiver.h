// Receiver: what a socket sends us, as it comes.
//
//   Receiver receiver(&ring, fd);
//   receiver.Start();
//   while (!receiver.has_data() && !receiver.has_ended()) co_await receiver.Wait();
//   ...receiver.Front()... receiver.Pop();
//
// One multishot receive stays armed; each completion brings a buffer of the ring's pool, which
// waits here in order until it is read (Front) and given back (Pop). With no buffer left (ENOBUFS),
// or after an overrun completion queue, the kernel ends the multishot: it is armed again at the end
// of the turn in which its buffers have been read and the pool has some. Whoever cannot read on
// must Stop(), so that the buffers that all connections share do not gather here.
//
// Before the frame dies: Stop(), then await until in_flight() is false.
//
// Owner: the connection's frame. Threads: the ring's.
#pragma once

#include <coroutine>
#include <cstdint>
#include <span>

#include "uring/buffer_pool.h"
#include "uring/op.h"
#include "uring/ring.h"

namespace uring {

class Receiver : public Op {
 public:
  Receiver(Ring* ring, int fd) : Op(&TakeIn), ring_(ring), fd_(fd) {}
  ~Receiver();

  void Start();
  // Ends receiving, for now or for good. What has been received, and what comes before the kernel
  // has noticed, stays readable. Start goes on.
  void Stop();

  [[nodiscard]] bool has_data() const { return head_ != BufferPool::kNone; }
  // No more will come: the peer has ended (end_result 0) or the socket failed (a negative errno).
  [[nodiscard]] bool has_ended() const { return has_ended_; }
  [[nodiscard]] std::int32_t end_result() const { return end_result_; }

  // The oldest unread buffer; only while has_data().
  [[nodiscard]] std::span<const char> Front() const;
  // Gives it back.
  void Pop();

  // Calls visit(std::span<const char>) for each unread buffer, oldest first.
  template <typename Visit>
  void ForEachHeld(Visit visit) const;

  // Resumes at the receiver's next news: data, the end, a stop that has come through, or a Nudge.
  class Awaiter {
   public:
    explicit Awaiter(Receiver* receiver) : receiver_(receiver) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiter) noexcept { receiver_->waiter_ = waiter; }
    void await_resume() const noexcept {}

   private:
    Receiver* receiver_;
  };
  [[nodiscard]] Awaiter Wait() { return Awaiter(this); }
  // Resumes whoever waits, in the next round of the ring.
  void Nudge();

  [[nodiscard]] int fd() const { return fd_; }
  // Unread buffers.
  [[nodiscard]] std::uint32_t held_count() const { return held_count_; }
  [[nodiscard]] bool is_wanted() const { return is_wanted_; }

 private:
  friend class Ring;
  static void TakeIn(Op* op, std::int32_t result, std::uint32_t flags);
  void TakeInBuffer(std::uint16_t buffer, std::uint32_t bytes);
  void TakeInEnd(std::int32_t result);

  Ring* ring_;
  int fd_;
  std::int32_t end_result_ = 0;
  std::uint16_t head_ = BufferPool::kNone;
  std::uint16_t tail_ = BufferPool::kNone;
  std::uint16_t held_count_ = 0;
  bool is_armed_ = false;
  bool is_wanted_ = false;    // Between Start and Stop.
  bool is_in_rearm_ = false;  // In the ring's list.
  bool has_ended_ = false;
};

template <typename Visit>
void Receiver::ForEachHeld(Visit visit) const {
  const BufferPool& buffers = ring_->buffers();
  for (std::uint16_t buffer = head_; buffer != BufferPool::kNone; buffer = buffers.next(buffer)) {
    visit(buffers.Data(buffer));
  }
}

}  // namespace uring
