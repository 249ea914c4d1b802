// Aggregator: the coroutine that folds all threads' statistics blocks.
//
// It folds on a timer and publishes the sum, and on demand for `stats`, so that a quiet server
// answers exactly. `stats reset` makes the present sum the baseline that later answers are counted
// from. No data command waits for it, locks for it, or writes anything it does not write anyway.
//
// Owner: the Server; it runs on the control ring, in the main thread. Threads: Ask and Published
// from any.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "coro/event.h"
#include "coro/task.h"
#include "stats/block.h"
#include "stats/snapshot.h"
#include "uring/mailbox.h"
#include "uring/ring.h"
#include "uring/timer.h"

namespace server {

class Worker;

// A request for a fresh sum. It lives in the frame of the coroutine that asks and awaits `done`.
struct FoldTicket {
  explicit FoldTicket(Worker* asking_worker) : worker(asking_worker) {}

  Worker* worker;
  bool resets = false;  // Make the sum the new baseline.
  std::shared_ptr<const stats::Snapshot> snapshot;
  coro::Event done;  // Set in the worker's thread.
};

class Aggregator {
 public:
  Aggregator(uring::Ring* ring, std::chrono::milliseconds interval)
      : ring_(ring), interval_(interval), mailbox_(ring), timer_(ring) {}

  // All blocks are added before the loops start and live as long as it.
  void AddBlock(const stats::Block* block) { blocks_.push_back(block); }

  void Ask(uring::Ring* from, FoldTicket* ticket) { mailbox_.Post(from, ticket); }
  // The sum of the last fold.
  [[nodiscard]] std::shared_ptr<const stats::Snapshot> Published() const;

  // Folds every interval until Stop.
  coro::Task<> AggregateLoop();
  // Answers tickets until Stop.
  coro::Task<> AnswerLoop();
  void Stop();

 private:
  [[nodiscard]] std::unique_ptr<stats::Snapshot> Sum() const;
  void Fold();
  void Answer(FoldTicket* ticket);

  uring::Ring* ring_;
  std::chrono::milliseconds interval_;
  uring::Mailbox<FoldTicket*> mailbox_;
  uring::Timer timer_;
  std::vector<const stats::Block*> blocks_;
  stats::Snapshot baseline_;
  bool is_stopping_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<const stats::Snapshot> published_;  // Guarded by mutex_.
};

}  // namespace server
