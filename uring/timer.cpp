#include "uring/timer.h"

#include "uring/ring.h"

namespace uring {

void SingleOp::Cancel() {
  if (is_held()) ring_->Cancel(this);
}

void SingleOp::TakeIn(Op* op, std::int32_t result, std::uint32_t) {
  auto* single = static_cast<SingleOp*>(op);
  single->result_ = result;
  if (!single->is_held()) single->ring_->MarkReady(single);
}

void Timer::Start(std::chrono::nanoseconds delay) {
  ENSURE(!in_flight());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(delay);
  delay_ = {.tv_sec = seconds.count(), .tv_nsec = (delay - seconds).count()};
  ring_->StartTimer(this);
}

void Poll::Start() {
  ENSURE(!in_flight());
  ring_->StartPoll(this);
}

}  // namespace uring
