#include "uring/acceptor.h"

#include <liburing.h>
#include <unistd.h>

#include <cerrno>

#include "uring/ring.h"

namespace uring {

Acceptor::~Acceptor() {
  for (const std::int32_t news : news_) {
    if (news >= 0) close(news);
  }
}

void Acceptor::Start() {
  is_wanted_ = true;
  if (!is_armed_) ring_->StartAccept(this);
  is_armed_ = true;
}

void Acceptor::Stop() {
  is_wanted_ = false;
  if (is_armed_) ring_->Cancel(this);
}

void Acceptor::Nudge() { ring_->MarkReady(this); }

std::int32_t Acceptor::TakeNews() {
  const std::int32_t news = news_.front();
  news_.pop_front();
  return news;
}

void Acceptor::TakeIn(Op* op, std::int32_t result, std::uint32_t flags) {
  auto* acceptor = static_cast<Acceptor*>(op);
  if ((flags & IORING_CQE_F_MORE) == 0) acceptor->is_armed_ = false;
  acceptor->ring_->MarkReady(acceptor);
  if (result == -ECANCELED) return;
  if (result == -EINVAL && acceptor->ring_->uses_multishot()) {
    acceptor->ring_->set_multishot_missing();
    return acceptor->Start();
  }
  acceptor->news_.push_back(result);
  // A multishot that ends with a socket in hand, or a single accept, goes on.
  if (result >= 0 && !acceptor->is_armed_ && acceptor->is_wanted_) acceptor->Start();
}

}  // namespace uring
