#include "server/cache/line_store.h"

#include <utility>

namespace cache {

std::unique_ptr<LineStore> LineStore::Reserve(std::size_t line_count, std::string* error) {
  auto memory = Mapping::Reserve(line_count * sizeof(IndexLine), "the index", error);
  if (memory == nullptr) return nullptr;
  return std::unique_ptr<LineStore>(new LineStore(std::move(memory), line_count));
}

LineStore::LineStore(std::unique_ptr<Mapping> memory, std::size_t line_count)
    : memory_(std::move(memory)),
      lines_(reinterpret_cast<IndexLine*>(memory_->start())),
      line_count_(line_count) {}

void LineStore::Return(std::size_t from, std::size_t until) {
  constexpr std::size_t kStepBytes = std::size_t{64} << 10;
  const std::size_t from_bytes =
      (from * sizeof(IndexLine) + kStepBytes - 1) / kStepBytes * kStepBytes;
  const std::size_t until_bytes = until * sizeof(IndexLine) / kStepBytes * kStepBytes;
  if (from_bytes < until_bytes) memory_->Return(from_bytes, until_bytes - from_bytes);
}

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
