#include "uring/sender.h"

#include <cerrno>

#include "coro/ensure.h"
#include "uring/ring.h"

namespace uring {

void Sender::Begin(std::coroutine_handle<> waiter, std::span<iovec> pieces, bool waits, Then then) {
  DEBUG_ENSURE(!in_flight() && !is_unsettled_ && pieces.size() <= kPieceCountMax);
  std::size_t total_bytes = 0;
  for (const iovec& piece : pieces) total_bytes += piece.iov_len;
  ENSURE(total_bytes <= kBytesMax);
  waiter_ = waiter;
  message_.msg_iov = pieces.data();
  message_.msg_iovlen = pieces.size();
  total_bytes_ = static_cast<std::int32_t>(total_bytes);
  result_ = 0;
  is_unsettled_ = !waits;
  ring_->StartSend(this, waits);
  if (then == Then::kGoesOn) ring_->SkipNextWait();
}

void Sender::SettleWhole() {
  is_unsettled_ = false;
  result_ = total_bytes_;
}

void Sender::TakeIn(Op* op, std::int32_t result, std::uint32_t) {
  auto* sender = static_cast<Sender*>(op);
  const bool was_try = sender->is_unsettled_;
  sender->is_unsettled_ = false;
  sender->result_ = was_try && result == -EAGAIN ? 0 : result;
  if (was_try) return sender->ring_->MarkReadyFirst(sender);
  if (!sender->is_held()) sender->ring_->MarkReady(sender);
}

}  // namespace uring
