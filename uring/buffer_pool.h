// BufferPool: the receive buffers of one ring, which the kernel fills as data arrives.
//
// All connections of a thread share them: an idle connection holds none. The kernel takes a buffer
// from the provided-buffer ring (io_uring_register_buf_ring) when data comes; the ring's thread
// reads it, returns it, and returned buffers are handed back to the kernel once a turn (Publish). A
// received buffer waiting to be read is a link in its receiver's list: {bytes, next} here, head and
// tail there.
//
// Owner: the Ring. Threads: the ring's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct io_uring;
struct io_uring_buf_ring;

namespace uring {

class BufferPool {
 public:
  static constexpr std::uint16_t kGroup = 1;
  static constexpr std::uint16_t kNone = 0xffff;

  BufferPool() = default;
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

  // Maps `count` (a power of two, at most 32768) buffers and gives them all to the kernel.
  // Returns 0 or a positive errno.
  int Open(io_uring* ring, std::uint32_t count, std::uint32_t buffer_bytes);
  // The kernel takes no buffer any more. Before the ring is closed; the memory goes after it.
  void Unregister();

  // A completion said that the kernel has filled `buffer` with `bytes`.
  void Filled(std::uint16_t buffer, std::uint32_t bytes);
  [[nodiscard]] std::span<const char> Data(std::uint16_t buffer) const {
    return {memory_ + std::size_t{buffer} * buffer_bytes_, entries_[buffer].bytes};
  }
  [[nodiscard]] std::uint16_t next(std::uint16_t buffer) const { return entries_[buffer].next; }
  void set_next(std::uint16_t buffer, std::uint16_t next) { entries_[buffer].next = next; }

  // The buffer has been read. The kernel gets it at the next Publish.
  void Return(std::uint16_t buffer);
  // Hands returned buffers to the kernel; returns how many.
  std::uint32_t Publish();

  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::uint32_t buffer_bytes() const { return buffer_bytes_; }
  // Buffers that the kernel does not have now.
  [[nodiscard]] std::uint32_t held_count() const { return held_count_; }

 private:
  struct Entry {
    std::uint32_t bytes = 0;
    std::uint16_t next = kNone;
  };

  void Close();
  void Offer(std::uint16_t buffer, std::uint32_t offset);

  io_uring* ring_ = nullptr;
  io_uring_buf_ring* kernel_ring_ = nullptr;
  char* memory_ = nullptr;
  std::unique_ptr<Entry[]> entries_;
  std::uint32_t count_ = 0;
  std::uint32_t buffer_bytes_ = 0;
  std::uint32_t held_count_ = 0;
  std::uint32_t returned_count_ = 0;  // Written into the kernel's ring, not yet published.
};

}  // namespace uring
