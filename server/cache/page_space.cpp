#include "server/cache/page_space.h"

#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include "coro/ensure.h"

namespace cache {

namespace {

void* Map(std::size_t bytes) {
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
              -1, 0);
}

}  // namespace

std::unique_ptr<PageSpace> PageSpace::Reserve(std::size_t page_bytes, std::uint32_t page_count,
                                              std::uint32_t page_count_max, std::string* error) {
  ENSURE(std::has_single_bit(page_bytes) && page_count > 0 && page_count <= page_count_max);
  const std::size_t bytes = page_bytes * page_count_max + page_bytes;  // One more, to align.
  void* mapping = Map(bytes);
  if (mapping == MAP_FAILED) {
    *error = "cannot reserve " + std::to_string(bytes >> 20U) +
             " MB of address space for items: " + std::strerror(errno) +
             "; lower the memory limit (-m)";
    return nullptr;
  }
  return std::unique_ptr<PageSpace>(
      new PageSpace(static_cast<char*>(mapping), bytes, page_bytes, page_count, page_count_max));
}

// A Page begins as zeroes but for its bounds, which AddPage sets: the mapping need not be touched.
PageSpace::PageSpace(char* mapping, std::size_t mapping_bytes, std::size_t page_bytes,
                     std::uint32_t page_count, std::uint32_t page_count_max)
    : mapping_(mapping),
      mapping_bytes_(mapping_bytes),
      base_(mapping),
      page_shift_(static_cast<unsigned>(std::countr_zero(page_bytes))),
      page_count_max_(page_count_max),
      pages_(static_cast<Page*>(Map(sizeof(Page) * page_count_max))),
      limit_(page_count) {
  ENSURE(pages_ != MAP_FAILED);
  const std::size_t over = reinterpret_cast<std::uintptr_t>(mapping) & (page_bytes - 1);
  if (over != 0) base_ += page_bytes - over;
}

PageSpace::~PageSpace() {
  munmap(pages_, sizeof(Page) * page_count_max_);
  munmap(mapping_, mapping_bytes_);
}

// A thread that has counted itself in finds a page: those on the stack and those never used are
// together at least as many as may still be held.
std::uint32_t PageSpace::TakeFree() {
  std::uint32_t held = held_count_.load(std::memory_order_relaxed);
  do {
    if (held >= page_count()) return kNone;
  } while (!held_count_.compare_exchange_weak(held, held + 1, std::memory_order_relaxed));
  for (;;) {
    if (const std::uint32_t page = Pop(); page != kNone) return page;
    std::uint32_t unused = unused_from_.load(std::memory_order_relaxed);
    while (unused < page_count_max_) {
      if (unused_from_.compare_exchange_weak(unused, unused + 1, std::memory_order_relaxed)) {
        return unused;
      }
    }
  }
}

void PageSpace::GiveFree(std::uint32_t page) {
  if (excess_count() > 0) ReturnMemory(page);
  Push(page);
  held_count_.fetch_sub(1, std::memory_order_relaxed);
}

void PageSpace::SetPageCount(std::uint32_t page_count) {
  ENSURE(page_count > 0 && page_count <= page_count_max_);
  const bool is_lower = page_count < limit_.exchange(page_count, std::memory_order_relaxed);
  if (!is_lower) return;
  std::vector<std::uint32_t> free_pages;
  for (std::uint32_t page = Pop(); page != kNone; page = Pop()) free_pages.push_back(page);
  for (const std::uint32_t page : free_pages) {
    ReturnMemory(page);
    Push(page);
  }
}

void PageSpace::ReturnMemory(std::uint32_t page) {
  madvise(Start(page), page_bytes(), MADV_DONTNEED);
}

std::uint32_t PageSpace::Pop() {
  std::uint64_t head = free_head_.load(std::memory_order_acquire);
  for (;;) {
    const auto first = static_cast<std::uint32_t>(head);
    if (first == 0) return kNone;
    const std::uint32_t next = pages_[first - 1].next_free.load(std::memory_order_relaxed);
    const std::uint64_t changed = ((head >> 32U) + 1) << 32U | next;
    if (free_head_.compare_exchange_weak(head, changed, std::memory_order_acquire)) {
      return first - 1;
    }
  }
}

void PageSpace::Push(std::uint32_t page) {
  std::uint64_t head = free_head_.load(std::memory_order_relaxed);
  std::uint64_t changed = 0;
  do {
    pages_[page].next_free.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    changed = ((head >> 32U) + 1) << 32U | (page + 1);
  } while (!free_head_.compare_exchange_weak(head, changed, std::memory_order_release,
                                             std::memory_order_relaxed));
}

}  // namespace cache
