#include "server/cache/line_store.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace cache {

std::unique_ptr<LineStore> LineStore::Reserve(std::size_t line_count, std::string* error) {
  const std::size_t bytes = line_count * sizeof(IndexLine);
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    *error = "cannot reserve " + std::to_string(bytes >> 20U) +
             " MB of address space for the index: " + std::strerror(errno) +
             "; lower the memory limit (-m)";
    return nullptr;
  }
  return std::unique_ptr<LineStore>(new LineStore(static_cast<IndexLine*>(mapping), line_count));
}

LineStore::~LineStore() { munmap(static_cast<void*>(lines_), line_count_ * sizeof(IndexLine)); }

std::uint32_t LineStore::Take() {
  std::uint64_t head = free_head_.load(std::memory_order_acquire);
  while (static_cast<std::uint32_t>(head) != 0) {
    const auto line = static_cast<std::uint32_t>(head);
    const std::uint64_t next = lines_[line].header.load(std::memory_order_relaxed) & UINT32_MAX;
    const std::uint64_t changed = ((head >> 32U) + 1) << 32U | next;
    if (free_head_.compare_exchange_weak(head, changed, std::memory_order_acquire)) {
      taken_count_.fetch_add(1, std::memory_order_relaxed);
      return line;
    }
  }
  std::uint32_t line = unused_from_.load(std::memory_order_relaxed);
  do {
    if (line >= line_count_) return 0;
  } while (!unused_from_.compare_exchange_weak(line, line + 1, std::memory_order_relaxed));
  taken_count_.fetch_add(1, std::memory_order_relaxed);
  return line;
}

void LineStore::Give(std::uint32_t line) {
  taken_count_.fetch_sub(1, std::memory_order_relaxed);
  std::uint64_t head = free_head_.load(std::memory_order_relaxed);
  std::uint64_t changed = 0;
  do {
    lines_[line].header.store(head & UINT32_MAX, std::memory_order_relaxed);
    changed = ((head >> 32U) + 1) << 32U | line;
  } while (!free_head_.compare_exchange_weak(head, changed, std::memory_order_release,
                                             std::memory_order_relaxed));
}

}  // namespace cache
