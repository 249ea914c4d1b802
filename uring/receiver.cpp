#include "uring/receiver.h"

#include <liburing.h>

#include <cerrno>

#include "uring/ring.h"

namespace uring {

Receiver::~Receiver() {
  while (has_data()) Pop();
  ring_->ForgetRearm(this);
}

void Receiver::Start() {
  is_wanted_ = true;
  if (!is_armed_ && !has_ended_ && held_count_ == 0) ring_->StartReceive(this);
}

void Receiver::Stop() {
  is_wanted_ = false;
  if (is_armed_) ring_->Cancel(this);
}

std::span<const char> Receiver::Front() const { return ring_->buffers().Data(head_); }

void Receiver::Pop() {
  BufferPool& buffers = ring_->buffers();
  const std::uint16_t buffer = head_;
  head_ = buffers.next(buffer);
  if (head_ == BufferPool::kNone) tail_ = BufferPool::kNone;
  buffers.Return(buffer);
  --held_count_;
  if (held_count_ == 0 && is_wanted_ && !is_armed_ && !has_ended_) ring_->RearmLater(this);
}

void Receiver::Nudge() { ring_->MarkReady(this); }

void Receiver::TakeIn(Op* op, std::int32_t result, std::uint32_t flags) {
  auto* receiver = static_cast<Receiver*>(op);
  if ((flags & IORING_CQE_F_MORE) == 0) receiver->is_armed_ = false;
  if ((flags & IORING_CQE_F_BUFFER) != 0) {
    receiver->TakeInBuffer(static_cast<std::uint16_t>(flags >> IORING_CQE_BUFFER_SHIFT),
                           result > 0 ? static_cast<std::uint32_t>(result) : 0);
  }
  if (result <= 0) receiver->TakeInEnd(result);
  const bool starts_again = receiver->is_wanted_ && !receiver->is_armed_ && !receiver->has_ended_;
  if (starts_again && receiver->held_count_ == 0) receiver->ring_->RearmLater(receiver);
  receiver->ring_->MarkReady(receiver);
}

void Receiver::TakeInBuffer(std::uint16_t buffer, std::uint32_t bytes) {
  BufferPool& buffers = ring_->buffers();
  buffers.Filled(buffer, bytes);
  if (bytes == 0) return buffers.Return(buffer);
  if (tail_ == BufferPool::kNone) {
    head_ = buffer;
  } else {
    buffers.set_next(tail_, buffer);
  }
  tail_ = buffer;
  ++held_count_;
}

void Receiver::TakeInEnd(std::int32_t result) {
  switch (result) {
    case -ENOBUFS:
      ring_->CountNoBuffers();
      return;
    case -ECANCELED:  // By Stop, or by ourselves at kHeldMax.
    case -EINTR:
    case -EAGAIN:
      return;
    case -EINVAL:
      if (ring_->uses_multishot()) return ring_->set_multishot_missing();
      break;
    default:
      break;
  }
  has_ended_ = true;
  end_result_ = result;
}

}  // namespace uring
