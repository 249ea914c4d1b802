// FramePool: memory for coroutine frames, so that a connection costs no malloc after warm-up.
//
// Freed frames are kept in free lists by size (steps of 64 bytes up to 2 KiB) and handed out again,
// last freed first. Beyond kKeptBytesMax the size of which most is kept gives frames back to the
// system, so that a burst of one size does not crowd out the sizes in use. Frames above 2 KiB go
// straight to malloc and free. A frame carries no header: its size comes back with its deletion.
//
// Owner: the thread (one pool each). Threads: a frame may be freed by another thread than the one
// that made it; it then joins that thread's pool.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace coro {

class FramePool {
 public:
  static constexpr std::size_t kStepBytes = 64;
  static constexpr std::size_t kFrameBytesMax = 2048;
  static constexpr std::size_t kKeptBytesMax = std::size_t{4} << 20;

  // The calling thread's pool.
  static FramePool& Local();

  FramePool() = default;
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;
  ~FramePool();

  // Memory for a frame; aborts when the system has none left, as a coroutine cannot fail to start.
  void* Take(std::size_t frame_bytes);
  // Takes back what Take(frame_bytes) gave.
  void Return(void* frame, std::size_t frame_bytes) noexcept;

  // How often this thread went to malloc for a frame.
  [[nodiscard]] std::uint64_t malloc_count() const { return malloc_count_; }
  [[nodiscard]] std::size_t kept_bytes() const { return kept_bytes_; }

 private:
  struct FreeFrame {
    FreeFrame* next;
  };

  static constexpr std::size_t kClassCount = kFrameBytesMax / kStepBytes;
  static constexpr std::size_t ClassOf(std::size_t bytes) { return (bytes - 1) / kStepBytes; }
  static constexpr std::size_t ClassBytes(std::size_t index) { return (index + 1) * kStepBytes; }

  void Link(void* frame, std::size_t index) noexcept;
  void* Unlink(std::size_t index) noexcept;  // That class must keep one.
  [[nodiscard]] std::size_t FullestClass() const noexcept;

  std::array<FreeFrame*, kClassCount> free_{};
  std::array<std::size_t, kClassCount> class_kept_bytes_{};
  std::size_t kept_bytes_ = 0;
  std::uint64_t malloc_count_ = 0;
};

}  // namespace coro
