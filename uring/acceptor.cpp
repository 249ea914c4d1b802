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
  const bool is_cancelled = result == -ECANCELED;
  const bool is_refused = result == -EINVAL && acceptor->ring_->uses_multishot();
  if (is_refused) acceptor->ring_->set_multishot_missing();
  if (!is_cancelled && !is_refused) acceptor->news_.push_back(result);
  // A multishot that ends with a socket in hand, a single accept, and one that was stopped and
  // started again go on; a failed one waits for its owner.
  const bool goes_on = result >= 0 || is_cancelled || is_refused;
  if (goes_on && !acceptor->is_armed_ && acceptor->is_wanted_) acceptor->Start();
}

}  // namespace uring
