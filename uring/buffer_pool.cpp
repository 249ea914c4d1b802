#include "uring/buffer_pool.h"

#include <liburing.h>
#include <sys/mman.h>

#include <cerrno>

#include "coro/ensure.h"

namespace uring {
namespace {

constexpr std::size_t kPageBytes = 4096;

std::size_t RingBytes(std::uint32_t count) {
  return (count * sizeof(io_uring_buf) + kPageBytes - 1) / kPageBytes * kPageBytes;
}

void* Map(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

BufferPool::~BufferPool() { Close(); }

int BufferPool::Open(io_uring* ring, std::uint32_t count, std::uint32_t buffer_bytes) {
  count_ = count;
  buffer_bytes_ = buffer_bytes;
  memory_ = static_cast<char*>(Map(std::size_t{count} * buffer_bytes));
  kernel_ring_ = static_cast<io_uring_buf_ring*>(Map(RingBytes(count)));
  if (memory_ == nullptr || kernel_ring_ == nullptr) {
    Close();
    return ENOMEM;
  }
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uintptr_t>(kernel_ring_);
  registration.ring_entries = count;
  registration.bgid = kGroup;
  const int result = io_uring_register_buf_ring(ring, &registration, 0);
  if (result != 0) {
    Close();
    return -result;
  }
  ring_ = ring;
  io_uring_buf_ring_init(kernel_ring_);
  entries_ = std::make_unique<Entry[]>(count);
  for (std::uint32_t buffer = 0; buffer < count; ++buffer) {
    Offer(static_cast<std::uint16_t>(buffer), buffer);
  }
  io_uring_buf_ring_advance(kernel_ring_, static_cast<int>(count));
  return 0;
}

void BufferPool::Unregister() {
  if (ring_ != nullptr) io_uring_unregister_buf_ring(ring_, kGroup);
  ring_ = nullptr;
}

void BufferPool::Close() {
  if (kernel_ring_ != nullptr) munmap(kernel_ring_, RingBytes(count_));
  if (memory_ != nullptr) munmap(memory_, std::size_t{count_} * buffer_bytes_);
  kernel_ring_ = nullptr;
  memory_ = nullptr;
}

void BufferPool::Offer(std::uint16_t buffer, std::uint32_t offset) {
  io_uring_buf_ring_add(kernel_ring_, memory_ + std::size_t{buffer} * buffer_bytes_, buffer_bytes_,
                        buffer, static_cast<int>(count_ - 1), static_cast<int>(offset));
}

void BufferPool::Filled(std::uint16_t buffer, std::uint32_t bytes) {
  ENSURE(buffer < count_);
  entries_[buffer] = {.bytes = bytes, .next = kNone};
  ++held_count_;
}

void BufferPool::Return(std::uint16_t buffer) {
  Offer(buffer, returned_count_);
  ++returned_count_;
}

std::uint32_t BufferPool::Publish() {
  const std::uint32_t published_count = returned_count_;
  if (published_count == 0) return 0;
  io_uring_buf_ring_advance(kernel_ring_, static_cast<int>(published_count));
  held_count_ -= published_count;
  returned_count_ = 0;
  return published_count;
}

}  // namespace uring
