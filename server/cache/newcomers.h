// Newcomers: the slots of a class's newest items, oldest first: S3-FIFO's small queue.
//
// An entry may be out of date (its item has gone, the slot holds another one, the page is somebody
// else's): who takes it looks.
//
// Owner: a Heap. Threads: the heap's, or who borrows it.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace cache {

class Newcomers {
 public:
  [[nodiscard]] std::size_t count() const { return count_; }
  void Add(void* slot) {
    if (count_ == slots_.size()) Grow();
    slots_[(first_ + count_) & (slots_.size() - 1)] = slot;
    ++count_;
  }
  // The oldest; there is one.
  void* Take() {
    void* slot = slots_[first_];
    first_ = (first_ + 1) & (slots_.size() - 1);
    --count_;
    return slot;
  }

 private:
  static constexpr std::size_t kSlotsMin = 16;

  void Grow() {
    std::vector<void*> larger(slots_.empty() ? kSlotsMin : slots_.size() * 2);
    for (std::size_t at = 0; at < count_; ++at) {
      larger[at] = slots_[(first_ + at) & (slots_.size() - 1)];
    }
    slots_ = std::move(larger);
    first_ = 0;
  }

  std::vector<void*> slots_;  // A ring; its size is a power of two.
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace cache
