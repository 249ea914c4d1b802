// Sender: puts bytes into a socket, at no completion where the socket takes them at once.
//
//   const std::int32_t taken = co_await sender.Try(pieces, Then::kIdle);  // what fits now
//   ...keep the rest in memory of your own...
//   const std::int32_t sent = co_await sender.All(rest);      // waits for the peer to read
//
// Try submits with MSG_DONTWAIT | MSG_WAITALL and IOSQE_CQE_SKIP_SUCCESS: the kernel copies the
// bytes while it takes the submission in and, if it took all, says nothing; only a send that was
// cut short completes. So a reply costs one submission, no completion and no wake-up, and its bytes
// are free again as soon as the ring's Enter has returned. All() is an ordinary send that the
// kernel finishes when the peer reads.
//
// The pieces, and the memory they point to, stay untouched until the awaiting coroutine goes on.
// Short sends are resumed before all other coroutines of their turn.
//
// Owner: the connection's frame. Threads: the ring's. One send at a time.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <coroutine>
#include <cstdint>
#include <span>

#include "uring/op.h"

namespace uring {

class Ring;

// What the sending coroutine does after a Try that was taken whole. A silent success wakes nobody:
// if the coroutine has more to do than to wait for its peer, the ring must not sleep on it.
enum class Then : std::uint8_t {
  kIdle,    // It waits for something that will complete: it goes on together with that.
  kGoesOn,  // It goes on in the next turn, which comes at once.
};

class Sender : public Op {
 public:
  Sender(Ring* ring, int fd) : Op(&TakeIn), ring_(ring), fd_(fd) {}

  class Awaiter {
   public:
    Awaiter(Sender* sender, std::span<iovec> pieces, bool waits, Then then)
        : sender_(sender), pieces_(pieces), waits_(waits), then_(then) {}
    [[nodiscard]] bool await_ready() const noexcept { return pieces_.empty(); }
    void await_suspend(std::coroutine_handle<> waiter) noexcept {
      sender_->Begin(waiter, pieces_, waits_, then_);
    }
    // Bytes taken, or a negative errno if none were.
    [[nodiscard]] std::int32_t await_resume() const noexcept {
      return pieces_.empty() ? 0 : sender_->result_;
    }

   private:
    Sender* sender_;
    std::span<iovec> pieces_;
    bool waits_;
    Then then_;
  };

  // At most kPieceCountMax pieces of together at most kBytesMax.
  static constexpr std::size_t kPieceCountMax = 1024;
  static constexpr std::size_t kBytesMax = std::size_t{1} << 30;

  [[nodiscard]] Awaiter Try(std::span<iovec> pieces, Then then) {
    return Awaiter(this, pieces, false, then);
  }
  [[nodiscard]] Awaiter All(std::span<iovec> pieces) {
    return Awaiter(this, pieces, true, Then::kIdle);
  }

  [[nodiscard]] int fd() const { return fd_; }

 private:
  friend class Ring;
  static void TakeIn(Op* op, std::int32_t result, std::uint32_t flags);
  void Begin(std::coroutine_handle<> waiter, std::span<iovec> pieces, bool waits, Then then);
  // The kernel took a Try whole.
  void SettleWhole();

  Ring* ring_;
  msghdr message_{};
  std::int32_t total_bytes_ = 0;
  std::int32_t result_ = 0;
  int fd_;
  bool is_unsettled_ = false;  // A Try whose outcome is not known yet.
};

}  // namespace uring
