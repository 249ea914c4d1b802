#include "server/aggregator.h"

#include "server/worker.h"

namespace server {

std::shared_ptr<const stats::Snapshot> Aggregator::Published() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

std::unique_ptr<stats::Snapshot> Aggregator::Sum() const {
  auto sum = std::make_unique<stats::Snapshot>();
  for (const stats::Block* block : blocks_) sum->Add(*block);
  return sum;
}

void Aggregator::Fold() {
  auto since = std::make_shared<const stats::Snapshot>(Sum()->Since(baseline_));
  const std::lock_guard lock(mutex_);
  published_ = std::move(since);
}

coro::Task<> Aggregator::AggregateLoop() {
  while (!is_stopping_) {
    Fold();
    timer_.Start(interval_);
    co_await timer_.Wait();
  }
}

coro::Task<> Aggregator::AnswerLoop() {
  while (!is_stopping_) {
    FoldTicket* ticket = nullptr;
    while (mailbox_.Take(&ticket)) Answer(ticket);
    co_await mailbox_.Wait();
  }
}

void Aggregator::Answer(FoldTicket* ticket) {
  if (ticket->resets) baseline_ = *Sum();
  Fold();
  ticket->snapshot = Published();
  ticket->worker->Post(ring_, {.kind = WorkerMessage::Kind::kFolded, .ticket = ticket});
}

void Aggregator::Stop() {
  is_stopping_ = true;
  timer_.Cancel();
  ring_->MarkReady(&mailbox_);
}

}  // namespace server
