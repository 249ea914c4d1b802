// SlabAllocator: one thread's pages, cut into slots of its size classes.
//
// Every page keeps its own list of free slots, so a page can be emptied and handed on without
// searching. A page whose last slot comes back goes to the pool when its class has another page's
// worth of room, or when it was being drained.
//
// Owner: a Heap. Threads: the heap's, or who borrows it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "server/cache/page_space.h"
#include "server/cache/size_classes.h"

namespace cache {

class SlabAllocator {
 public:
  SlabAllocator(PageSpace* space, const SizeClasses* classes, std::uint32_t thread)
      : space_(space), sizes_(classes), thread_(thread), classes_(classes->count() + 1) {}

  // A slot of a page that this thread has, or null. Its state byte is the caller's to set.
  void* Take(std::uint8_t class_id);
  // A slot of this thread's comes back.
  void Give(void* slot);
  // Puts a page of the pool to use.
  void AddPage(std::uint32_t number, std::uint8_t class_id);
  // No more slots come from this page; once all are back, maybe at once, it goes to `next_class`,
  // or to the pool if that is 0.
  void Drain(std::uint32_t number, std::uint8_t next_class);

  // The next slot that a clock hand over the class meets, or null when the class has none; it may
  // be free. Pages being drained are skipped.
  void* NextSlot(std::uint8_t class_id);

  [[nodiscard]] const std::vector<std::uint32_t>& PagesOf(std::uint8_t class_id) const {
    return classes_[class_id].pages;
  }
  // Free slots in pages that are not being drained.
  [[nodiscard]] std::size_t AvailableCount(std::uint8_t class_id) const {
    return classes_[class_id].available_count;
  }
  // Slots that Take has ever given.
  [[nodiscard]] std::uint64_t TakenCount(std::uint8_t class_id) const {
    return classes_[class_id].taken_count;
  }
  [[nodiscard]] std::size_t SlotCount(std::uint8_t class_id) const {
    return PagesOf(class_id).size() * sizes_->SlotsPerPage(class_id);
  }
  [[nodiscard]] std::uint32_t page_count() const { return page_count_; }
  [[nodiscard]] std::uint32_t draining_count() const { return draining_count_; }

  // Checks every count and list, at rest. Returns what is wrong; empty when nothing is.
  [[nodiscard]] std::string Validate() const;

 private:
  struct Class {
    std::vector<std::uint32_t> pages;
    std::vector<std::uint32_t> open;  // Pages with free slots; the last one gives.
    std::size_t available_count = 0;
    std::uint64_t taken_count = 0;
    std::size_t hand_page = 0;  // Index into pages.
    std::uint32_t hand_slot = 0;
  };

  void Open(Class* of, std::uint32_t page);
  void Close(Class* of, std::uint32_t page);
  void Release(std::uint32_t number);
  [[nodiscard]] std::string ValidatePage(std::uint32_t number, std::uint8_t class_id) const;

  PageSpace* space_;
  const SizeClasses* sizes_;
  std::uint32_t thread_;
  std::vector<Class> classes_;
  std::uint32_t page_count_ = 0;
  std::uint32_t draining_count_ = 0;
};

}  // namespace cache
