#include "server/cache/page_space.h"

#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "coro/ensure.h"

namespace cache {

std::unique_ptr<PageSpace> PageSpace::Reserve(std::size_t page_bytes, std::uint32_t page_count,
                                              std::string* error) {
  ENSURE(std::has_single_bit(page_bytes) && page_count > 0);
  const std::size_t bytes = page_bytes * page_count + page_bytes;  // One more, to align.
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    *error = "cannot reserve " + std::to_string(bytes >> 20U) +
             " MB of address space for items: " + std::strerror(errno) +
             "; lower the memory limit (-m)";
    return nullptr;
  }
  return std::unique_ptr<PageSpace>(
      new PageSpace(static_cast<char*>(mapping), bytes, page_bytes, page_count));
}

PageSpace::PageSpace(char* mapping, std::size_t mapping_bytes, std::size_t page_bytes,
                     std::uint32_t page_count)
    : mapping_(mapping),
      mapping_bytes_(mapping_bytes),
      base_(mapping),
      page_shift_(static_cast<unsigned>(std::countr_zero(page_bytes))),
      page_count_(page_count),
      pages_(std::make_unique<Page[]>(page_count)) {
  const std::size_t over = reinterpret_cast<std::uintptr_t>(mapping) & (page_bytes - 1);
  if (over != 0) base_ += page_bytes - over;
  for (std::uint32_t page = page_count; page > 0; --page) GiveFree(page - 1);
}

PageSpace::~PageSpace() { munmap(mapping_, mapping_bytes_); }

std::uint32_t PageSpace::TakeFree() {
  std::uint64_t head = free_head_.load(std::memory_order_acquire);
  for (;;) {
    const auto first = static_cast<std::uint32_t>(head);
    if (first == 0) return kNone;
    const std::uint32_t next = pages_[first - 1].next_free.load(std::memory_order_relaxed);
    const std::uint64_t changed = ((head >> 32U) + 1) << 32U | next;
    if (free_head_.compare_exchange_weak(head, changed, std::memory_order_acquire)) {
      free_count_.fetch_sub(1, std::memory_order_relaxed);
      return first - 1;
    }
  }
}

void PageSpace::GiveFree(std::uint32_t page) {
  free_count_.fetch_add(1, std::memory_order_relaxed);
  std::uint64_t head = free_head_.load(std::memory_order_relaxed);
  std::uint64_t changed = 0;
  do {
    pages_[page].next_free.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    changed = ((head >> 32U) + 1) << 32U | (page + 1);
  } while (!free_head_.compare_exchange_weak(head, changed, std::memory_order_release,
                                             std::memory_order_relaxed));
}

}  // namespace cache
