#include "uring/ring.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <utility>

#include "coro/ensure.h"
#include "uring/acceptor.h"
#include "uring/mailbox.h"
#include "uring/receiver.h"
#include "uring/sender.h"
#include "uring/timer.h"

namespace uring {
namespace {

// What a completion's user_data means: a pointer, with one of these in its low bits.
enum Tag : std::uint64_t {
  kTagOp = 0,       // An Op's own completion.
  kTagCancel = 1,   // The answer to the cancellation of an Op.
  kTagWake = 2,     // Another ring's message to this one.
  kTagEventFd = 3,  // This ring's eventfd has been written to.
  kTagPosted = 4,   // Our message to another ring failed; the pointer is that ring.
};
constexpr std::uint64_t kTagMask = 7;

std::uint64_t Tagged(const void* pointer, Tag tag) {
  return reinterpret_cast<std::uint64_t>(pointer) | tag;
}

// Set-up flags from the best set down; each step leaves one more thing out.
constexpr std::uint32_t kAlways = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
constexpr std::array kSetupLadder = {
    IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
    IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN,
    IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN,
    IORING_SETUP_SUBMIT_ALL + 0U,
    0U,
};

constexpr std::uint32_t kFeaturesNeeded =
    IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG | IORING_FEAT_CQE_SKIP;

constexpr std::array kOpcodesNeeded = {IORING_OP_ACCEPT,  IORING_OP_RECV,
                                       IORING_OP_SENDMSG, IORING_OP_ASYNC_CANCEL,
                                       IORING_OP_TIMEOUT, IORING_OP_POLL_ADD};

bool SupportsOpcode(const io_uring_probe* probe, io_uring_op opcode) {
  return io_uring_opcode_supported(probe, opcode) != 0;
}

}  // namespace

Ring::~Ring() {
  if (!is_open_) return;
  buffers_.Unregister();  // While the ring's descriptor is still its own.
  io_uring_queue_exit(&ring_);
  if (wake_fd_ >= 0) close(wake_fd_);
}

int Ring::Open(const RingOptions& options) {
  options_ = options;
  if (const int error = OpenQueues(); error != 0) return error;
  is_open_ = true;
  if (const int error = CheckFeatures(); error != 0) return error;
  if (options.buffer_count != 0) {
    const int error = buffers_.Open(&ring_, options.buffer_count, options.buffer_bytes);
    if (error != 0) return error;
  }
  sends_.reserve(ring_.sq.ring_entries);
  return OpenWaking();
}

int Ring::OpenQueues() {
  int error = EINVAL;
  for (const std::uint32_t flags : kSetupLadder) {
    if ((flags & options_.setup_flags_denied) != 0) continue;
    io_uring_params params{};
    params.flags = flags | kAlways;
    params.cq_entries = options_.cq_entries;
    error = -io_uring_queue_init_params(options_.sq_entries, &ring_, &params);
    setup_flags_ = flags;
    if (error != EINVAL) break;  // EINVAL: a flag that this kernel does not know.
  }
  if (error == 0) io_uring_register_ring_fd(&ring_);  // Cheaper Enter; its absence harms nothing.
  return error;
}

int Ring::CheckFeatures() {
  if ((ring_.features & kFeaturesNeeded) != kFeaturesNeeded) return EOPNOTSUPP;
  io_uring_probe* probe = io_uring_get_probe_ring(&ring_);
  if (probe == nullptr) return EOPNOTSUPP;
  const bool has_all = std::ranges::all_of(
      kOpcodesNeeded, [probe](io_uring_op opcode) { return SupportsOpcode(probe, opcode); });
  msg_ring_ = SupportsOpcode(probe, IORING_OP_MSG_RING) && !options_.deny_msg_ring;
  io_uring_free_probe(probe);
  multishot_ = !options_.deny_multishot;
  return has_all ? 0 : EOPNOTSUPP;
}

int Ring::OpenWaking() {
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) return errno;
  RearmWake();
  return 0;
}

void Ring::RearmWake() {
  io_uring_sqe* sqe = NextSqe();
  io_uring_prep_poll_add(sqe, wake_fd_, POLLIN);
  sqe->user_data = Tagged(this, kTagEventFd);
}

io_uring_sqe* Ring::NextSqe() {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  while (sqe == nullptr) {  // The queue is full: hand it over now.
    Submit(Wait::kNo);
    sqe = io_uring_get_sqe(&ring_);
  }
  return sqe;
}

// -- The turn.

void Ring::Enter(Wait wait) {
  ++counters_.turns;
  if (has_ready() || !rearm_.empty() || skips_wait_) wait = Wait::kNo;
  skips_wait_ = false;
  Submit(wait);
  // Asked here: what is taken in may queue more.
  const bool took_all = io_uring_sq_ready(&ring_) == 0;
  Collect();
  CancelAgain();
  SettleSends(took_all);
}

void Ring::Submit(Wait wait) {
  ++counters_.enters;
  // Without DEFER_TASKRUN completions come by themselves; with it only when asked for.
  const int result = wait == Wait::kYes ? io_uring_submit_and_wait(&ring_, 1)
                                        : io_uring_submit_and_get_events(&ring_);
  ENSURE(result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY ||
         result == -ETIME);
}

void Ring::Collect() {
  for (;;) {
    if (io_uring_cq_has_overflow(
            &ring_)) {  // The kernel keeps what did not fit, and moves it in when asked.
      ++counters_.cq_overflows;
      io_uring_get_events(&ring_);
    }
    std::array<io_uring_cqe*, 64> cqes;
    const unsigned count = io_uring_peek_batch_cqe(&ring_, cqes.data(), cqes.size());
    if (count == 0) break;
    counters_.completions += count;
    for (unsigned index = 0; index < count; ++index) {
      const io_uring_cqe cqe = *cqes[index];
      TakeIn(cqe);
    }
    io_uring_cq_advance(&ring_, count);
  }
}

void Ring::TakeIn(const io_uring_cqe& cqe) {
  void* pointer = reinterpret_cast<void*>(cqe.user_data & ~kTagMask);
  switch (cqe.user_data & kTagMask) {
    case kTagOp: {
      auto* op = static_cast<Op*>(pointer);
      if ((cqe.flags & IORING_CQE_F_MORE) == 0) --op->holds_;
      return op->handler_(op, cqe.res, cqe.flags);
    }
    case kTagCancel:
      return TakeInCancel(static_cast<Op*>(pointer), cqe.res);
    case kTagEventFd:
      EmptyEventFd();
      [[fallthrough]];
    case kTagWake:
      return LookAtMail();
    default:
      return static_cast<Ring*>(pointer)->WakeFromOutside();
  }
}

void Ring::TakeInCancel(Op* op, std::int32_t result) {
  --op->holds_;
  op->cancel_is_asked_ = false;
  // Not found although it is there: it was between two states.
  if (op->is_held() && result != 0) cancel_again_.push_back(op);
  if (!op->is_held()) MarkReady(op);
}

// Those that have ended since are left alone. Done before any coroutine runs, which may end them.
void Ring::CancelAgain() {
  for (Op* op : cancel_again_) {
    if (op->is_held()) Cancel(op);
  }
  cancel_again_.clear();
}

void Ring::SettleSends(bool took_all) {
  if (sends_.empty()) return;
  // Those cut short have completed and been taken in.
  std::erase_if(sends_, [](const Sender* sender) { return !sender->is_unsettled_; });
  if (!took_all) {  // The others settle in the next turn, which somebody may be waiting for.
    skips_wait_ |= !sends_.empty();
    return;
  }
  for (Sender* sender : sends_) {
    --sender->holds_;
    sender->SettleWhole();
    MarkReady(sender);
  }
  sends_.clear();
}

void Ring::MarkReady(Op* op) {
  if (op->is_queued_) return;
  op->is_queued_ = true;
  op->next_ready_ = nullptr;
  if (ready_first_ == nullptr) {
    ready_first_ = op;
  } else {
    ready_last_->next_ready_ = op;
  }
  ready_last_ = op;
}

void Ring::MarkReadyFirst(Op* op) {
  ENSURE(!op->is_queued_);
  op->is_queued_ = true;
  op->next_ready_ = ready_first_;
  if (ready_first_ == nullptr) ready_last_ = op;
  ready_first_ = op;
}

// -- Operations.

void Ring::StartReceive(Receiver* receiver) {
  io_uring_sqe* sqe = NextSqe();
  if (multishot_) {
    io_uring_prep_recv_multishot(sqe, receiver->fd_, nullptr, 0, 0);
  } else {
    io_uring_prep_recv(sqe, receiver->fd_, nullptr, 0, 0);
  }
  sqe->flags |= IOSQE_BUFFER_SELECT;
  sqe->buf_group = BufferPool::kGroup;
  sqe->user_data = Tagged(static_cast<Op*>(receiver), kTagOp);
  receiver->is_armed_ = true;
  ++receiver->holds_;
}

void Ring::RearmLater(Receiver* receiver) {
  if (receiver->is_in_rearm_) return;
  receiver->is_in_rearm_ = true;
  rearm_.push_back(receiver);
}

void Ring::ForgetRearm(Receiver* receiver) {
  if (receiver->is_in_rearm_) std::erase(rearm_, receiver);
  receiver->is_in_rearm_ = false;
}

void Ring::RearmReceivers() {
  if (buffers_.count() == 0) return;
  buffers_.Publish();
  if (rearm_.empty() || buffers_.held_count() == buffers_.count()) return;
  for (Receiver* receiver : std::exchange(rearm_, {})) {
    receiver->is_in_rearm_ = false;
    if (receiver->is_wanted_) receiver->Start();
  }
}

void Ring::StartSend(Sender* sender, bool waits) {
  ++counters_.sends;
  io_uring_sqe* sqe = NextSqe();
  const unsigned how = MSG_WAITALL | MSG_NOSIGNAL;
  io_uring_prep_sendmsg(sqe, sender->fd_, &sender->message_, waits ? how : how | MSG_DONTWAIT);
  sqe->user_data = Tagged(static_cast<Op*>(sender), kTagOp);
  ++sender->holds_;
  if (waits) {
    ++counters_.short_sends;
    return;
  }
  sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
  sends_.push_back(sender);
}

void Ring::StartAccept(Acceptor* acceptor) {
  io_uring_sqe* sqe = NextSqe();
  if (multishot_) {
    io_uring_prep_multishot_accept(sqe, acceptor->fd_, nullptr, nullptr, SOCK_CLOEXEC);
  } else {
    io_uring_prep_accept(sqe, acceptor->fd_, nullptr, nullptr, SOCK_CLOEXEC);
  }
  sqe->user_data = Tagged(static_cast<Op*>(acceptor), kTagOp);
  ++acceptor->holds_;
}

void Ring::StartTimer(Timer* timer) {
  io_uring_sqe* sqe = NextSqe();
  io_uring_prep_timeout(sqe, &timer->delay_, 0, 0);
  sqe->user_data = Tagged(static_cast<Op*>(timer), kTagOp);
  ++timer->holds_;
}

void Ring::StartPoll(Poll* poll) {
  io_uring_sqe* sqe = NextSqe();
  io_uring_prep_poll_add(sqe, poll->fd_, POLLIN);
  sqe->user_data = Tagged(static_cast<Op*>(poll), kTagOp);
  ++poll->holds_;
}

void Ring::Cancel(Op* op) {
  if (op->cancel_is_asked_) return;
  io_uring_sqe* sqe = NextSqe();
  io_uring_prep_cancel64(sqe, Tagged(op, kTagOp), 0);
  sqe->user_data = Tagged(op, kTagCancel);
  op->cancel_is_asked_ = true;
  ++op->holds_;
}

// -- Waking.

void Ring::AddMail(Mail* mail) { mail_.push_back(mail); }

void Ring::ForgetMail(Mail* mail) {
  std::erase(mail_, mail);
  Unqueue(mail);
}

void Ring::Unqueue(Op* op) {
  if (!op->is_queued_) return;
  Op* previous = nullptr;
  for (Op* queued = ready_first_; queued != op; queued = queued->next_ready_) previous = queued;
  (previous == nullptr ? ready_first_ : previous->next_ready_) = op->next_ready_;
  if (ready_last_ == op) ready_last_ = previous;
  op->is_queued_ = false;
}

void Ring::WakeOther(Ring* target) {
  if (target == this) {
    for (Mail* mail : mail_) MarkReady(mail);
    return;
  }
  if (!msg_ring_) return target->WakeFromOutside();
  if (target->wake_is_pending_.exchange(true, std::memory_order_acq_rel)) return;
  io_uring_sqe* sqe = NextSqe();
  io_uring_prep_msg_ring(sqe, target->ring_.ring_fd, 0, Tagged(target, kTagWake), 0);
  sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
  sqe->user_data = Tagged(target, kTagPosted);
}

void Ring::WakeFromOutside() {
  wake_is_pending_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  // The only failure is a counter at its maximum, which wakes all the same.
  [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof one);
}

void Ring::EmptyEventFd() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t bytes = read(wake_fd_, &count, sizeof count);
  RearmWake();
}

void Ring::LookAtMail() {
  wake_is_pending_.exchange(false, std::memory_order_acq_rel);
  for (Mail* mail : mail_) MarkReady(mail);
}

}  // namespace uring
