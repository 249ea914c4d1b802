#include "coro/frame_pool.h"

#include <algorithm>
#include <cstdlib>

#include "coro/ensure.h"

#if defined(__SANITIZE_ADDRESS__)
#define RINGCACHED_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RINGCACHED_ASAN 1
#endif
#endif
#ifdef RINGCACHED_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace coro {
namespace {

// A kept frame is nobody's: the address sanitizer then reports who touches it.
void Poison([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef RINGCACHED_ASAN
  __asan_poison_memory_region(memory, bytes);
#endif
}

void Unpoison([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef RINGCACHED_ASAN
  __asan_unpoison_memory_region(memory, bytes);
#endif
}

}  // namespace

FramePool& FramePool::Local() {
  static thread_local FramePool pool;
  return pool;
}

FramePool::~FramePool() {
  for (std::size_t index = 0; index < kClassCount; ++index) {
    while (free_[index] != nullptr) std::free(Unlink(index));
  }
}

void* FramePool::Take(std::size_t frame_bytes) {
  if (frame_bytes <= kFrameBytesMax) {
    const std::size_t index = ClassOf(frame_bytes);
    if (free_[index] != nullptr) return Unlink(index);
    frame_bytes = ClassBytes(index);
  }
  ++malloc_count_;
  void* frame = std::malloc(frame_bytes);
  ENSURE(frame != nullptr);
  return frame;
}

void FramePool::Return(void* frame, std::size_t frame_bytes) noexcept {
  if (frame_bytes > kFrameBytesMax) return std::free(frame);
  Link(frame, ClassOf(frame_bytes));
  while (kept_bytes_ > kKeptBytesMax) std::free(Unlink(FullestClass()));
}

void FramePool::Link(void* frame, std::size_t index) noexcept {
  auto* free_frame = static_cast<FreeFrame*>(frame);
  free_frame->next = free_[index];
  free_[index] = free_frame;
  class_kept_bytes_[index] += ClassBytes(index);
  kept_bytes_ += ClassBytes(index);
  Poison(frame, ClassBytes(index));
}

void* FramePool::Unlink(std::size_t index) noexcept {
  FreeFrame* frame = free_[index];
  Unpoison(frame, ClassBytes(index));
  free_[index] = frame->next;
  class_kept_bytes_[index] -= ClassBytes(index);
  kept_bytes_ -= ClassBytes(index);
  return frame;
}

std::size_t FramePool::FullestClass() const noexcept {
  const auto fullest = std::ranges::max_element(class_kept_bytes_);
  return static_cast<std::size_t>(fullest - class_kept_bytes_.begin());
}

}  // namespace coro
