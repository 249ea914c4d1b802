// Epochs: quiescent-state based reclamation (T. Hart, P. McKenney, A. Demke Brown, J. Walpole,
// "Performance of memory reclamation for lockless synchronization", JPDC 2007).
//
// A thread that takes something out of a shared structure stamps it with Advance(). It may be
// reused once every thread that was reading then has passed a quiescent point: when the stamp is at
// most SafeEpoch(). A thread publishes the epoch in which its read section began, or that it is
// off-line, on a cache line of its own; nothing else is written by readers.
//
// An off-line thread can be borrowed: another may then work on its memory (see Heap) in its stead,
// and Enter waits until it is given back.
//
// Owner: the SharedCache. Threads: Enter, Quiesce and Leave by the thread named; the rest by any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace cache {

class Epochs {
 public:
  explicit Epochs(std::uint32_t thread_count);

  void Enter(std::uint32_t thread);
  void Quiesce(std::uint32_t thread) {
    const std::uint64_t epoch = current_.load(std::memory_order_acquire);
    std::atomic<std::uint64_t>& published = lines_[thread].published;
    // What this thread has read so far is older than `epoch`, or the same section still lasts.
    if (published.load(std::memory_order_relaxed) != epoch) {
      published.store(epoch, std::memory_order_release);
    }
  }
  void Leave(std::uint32_t thread) {
    lines_[thread].published.store(kOffline, std::memory_order_release);
  }

  // False when the thread is on-line or somebody else's guest.
  bool TryBorrow(std::uint32_t thread);
  void GiveBack(std::uint32_t thread) { Leave(thread); }

  // To be called after the removal that is to be stamped. Returns the stamp.
  std::uint64_t Advance() { return current_.fetch_add(1, std::memory_order_seq_cst) + 1; }
  // Stamps up to this one are past.
  [[nodiscard]] std::uint64_t SafeEpoch() const;

 private:
  static constexpr std::uint64_t kOffline = UINT64_MAX;
  static constexpr std::uint64_t kBorrowed = UINT64_MAX - 1;

  struct alignas(64) Line {
    std::atomic<std::uint64_t> published{kOffline};
  };

  std::uint32_t thread_count_;
  std::unique_ptr<Line[]> lines_;
  alignas(64) std::atomic<std::uint64_t> current_{1};
};

}  // namespace cache
