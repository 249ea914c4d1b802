// Ring: one thread's io_uring, and the turn of its loop.
//
//   Ring ring;
//   if (const int error = ring.Open(options)) ...ExplainSetupFailure(error, options)...
//   for (;;) {
//     ring.Enter(Wait::kYes);  // one system call: submit everything queued, wait, take completions
//     in ring.ResumeReady();      // run the coroutines whose operations made progress
//   }
//
// A ring is made and used in one thread (SINGLE_ISSUER, DEFER_TASKRUN: completions are worked out
// only inside Enter). What an older kernel lacks is left out flag by flag. Operations are objects
// (op.h) that their coroutine owns; the ring only queues them.
//
// A send that needs no waiting costs no completion: see sender.h.
//
// Owner: the thread's loop. Threads: the thread that called Open, except WakeFromOutside.
#pragma once

#include <liburing.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "coro/resume.h"
#include "uring/buffer_pool.h"
#include "uring/op.h"
#include "uring/setup.h"

namespace uring {

class Receiver;
class Sender;
class Acceptor;
class Timer;
class Poll;
class Mail;

enum class Wait : std::uint8_t { kNo, kYes };

// What a ring has done. Written by its thread.
struct RingCounters {
  std::uint64_t turns = 0;
  std::uint64_t enters = 0;  // System calls.
  std::uint64_t completions = 0;
  std::uint64_t cq_overflows = 0;  // Times the completion queue was found overrun.
  std::uint64_t receive_no_buffers = 0;
  std::uint64_t sends = 0;
  std::uint64_t short_sends = 0;  // Sends that had to wait for the peer to read.
};

class Ring {
 public:
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring();

  // Makes the ring. Returns 0, or a positive errno (ExplainSetupFailure words it).
  int Open(const RingOptions& options);

  // Submits what is queued, waits for at least one completion if told to and nothing is ready yet,
  // and takes all completions in. Resumes nobody.
  void Enter(Wait wait);

  // Resumes the coroutines whose ops are ready, in order, then re-arms receivers. Stops early when
  // `stop()` says so; the rest stay ready for the next call.
  template <typename Stop>
  void ResumeReady(Stop stop);
  void ResumeReady() {
    ResumeReady([] { return false; });
  }
  [[nodiscard]] bool has_ready() const { return ready_first_ != nullptr; }
  // A Sender::Try has been queued whose outcome is not known: its bytes are still needed.
  [[nodiscard]] bool has_unsettled_sends() const { return !sends_.empty(); }

  // -- Starting operations; called by the op classes.
  void StartReceive(Receiver* receiver);
  void StartSend(Sender* sender, bool waits);
  void StartAccept(Acceptor* acceptor);
  void StartTimer(Timer* timer);
  void StartPoll(Poll* poll);
  // Asks the kernel to end the op, which must be in flight. Its end comes as its completion.
  void Cancel(Op* op);
  // The receiver is to be armed again at the end of the turn; or is not, as it dies.
  void RearmLater(Receiver* receiver);
  void ForgetRearm(Receiver* receiver);
  // The next Enter does not wait.
  void SkipNextWait() { skips_wait_ = true; }
  // Puts an op into the list of those to resume.
  void MarkReady(Op* op);
  // The same, before all others.
  void MarkReadyFirst(Op* op);

  // -- Other threads. Makes `target`'s Enter return and its mailboxes be looked at. WakeOther is
  // called by the thread of this ring, WakeFromOutside (of the target) by any thread.
  void WakeOther(Ring* target);
  void WakeFromOutside();
  void AddMail(Mail* mail);
  // It dies: its owner no longer runs, nobody posts to it any more.
  void ForgetMail(Mail* mail);

  [[nodiscard]] BufferPool& buffers() { return buffers_; }
  [[nodiscard]] const RingCounters& counters() const { return counters_; }
  [[nodiscard]] const RingOptions& options() const { return options_; }
  // IORING_SETUP flags in use.
  [[nodiscard]] std::uint32_t setup_flags() const { return setup_flags_; }
  [[nodiscard]] bool uses_multishot() const { return multishot_; }
  void set_multishot_missing() { multishot_ = false; }
  void CountNoBuffers() { ++counters_.receive_no_buffers; }
  [[nodiscard]] bool uses_msg_ring() const { return msg_ring_; }
  [[nodiscard]] std::uint32_t sq_entries() const { return ring_.sq.ring_entries; }
  [[nodiscard]] std::uint32_t cq_entries() const { return ring_.cq.ring_entries; }

 private:
  int OpenQueues();
  int CheckFeatures();
  int OpenWaking();
  io_uring_sqe* NextSqe();
  void Submit(Wait wait);
  void Collect();
  void TakeIn(const io_uring_cqe& cqe);
  void TakeInCancel(Op* op, std::int32_t result);
  void CancelAgain();
  // `took_all`: the kernel took every submission of this turn.
  void SettleSends(bool took_all);
  void RearmWake();
  void EmptyEventFd();
  void LookAtMail();
  void RearmReceivers();
  void Unqueue(Op* op);

  io_uring ring_{};
  bool is_open_ = false;
  bool multishot_ = true;
  bool msg_ring_ = true;
  bool skips_wait_ = false;
  std::uint32_t setup_flags_ = 0;
  RingOptions options_;
  BufferPool buffers_;

  Op* ready_first_ = nullptr;
  Op* ready_last_ = nullptr;
  std::vector<Sender*>
      sends_;  // Submitted or queued without a wait: settled when the kernel took them.
  std::vector<Receiver*> rearm_;   // To be armed at the end of the turn.
  std::vector<Op*> cancel_again_;  // Their cancellation came at a bad moment. Empty between turns.

  int wake_fd_ = -1;  // An eventfd: wakes from outside, and without MSG_RING.
  std::atomic<bool> wake_is_pending_{
      false};  // Writers: any thread; cleared by ours before it looks at mail.
  std::vector<Mail*> mail_;
  RingCounters counters_;
};

template <typename Stop>
void Ring::ResumeReady(Stop stop) {
  const Op* last = ready_last_;
  bool is_last = ready_first_ == nullptr;
  while (!is_last && ready_first_ != nullptr && !stop()) {
    Op* op = ready_first_;
    is_last = op == last;
    ready_first_ = op->next_ready_;
    if (ready_first_ == nullptr) ready_last_ = nullptr;
    op->is_queued_ = false;
    const std::coroutine_handle<> waiter = op->waiter_;
    op->waiter_ = nullptr;
    if (waiter) coro::Resume(waiter);
  }
  RearmReceivers();
}

}  // namespace uring
