#include "server/cache/page_space.h"

#include <bit>
#include <utility>
#include <vector>

#include "coro/ensure.h"

namespace cache {

std::unique_ptr<PageSpace> PageSpace::Reserve(std::size_t page_bytes, std::uint32_t page_count,
                                              std::uint32_t page_count_max, std::string* error) {
  ENSURE(std::has_single_bit(page_bytes) && page_bytes <= Mapping::kHugeBytes);
  ENSURE(page_count > 0 && page_count <= page_count_max);
  auto memory = Mapping::Reserve(page_bytes * page_count_max, "items", error);
  if (memory == nullptr) return nullptr;
  auto descriptions = Mapping::Reserve(sizeof(Page) * page_count_max, "pages", error);
  if (descriptions == nullptr) return nullptr;
  return std::unique_ptr<PageSpace>(
      new PageSpace(std::move(memory), std::move(descriptions), page_bytes, page_count));
}

// A Page begins as zeroes but for its bounds, which AddPage sets: they need not be touched.
PageSpace::PageSpace(std::unique_ptr<Mapping> memory, std::unique_ptr<Mapping> descriptions,
                     std::size_t page_bytes, std::uint32_t page_count)
    : memory_(std::move(memory)),
      descriptions_(std::move(descriptions)),
      base_(memory_->start()),
      pages_(reinterpret_cast<Page*>(descriptions_->start())),
      page_shift_(static_cast<unsigned>(std::countr_zero(page_bytes))),
      page_count_max_(static_cast<std::uint32_t>(memory_->bytes() / page_bytes)),
      limit_(page_count) {}

std::string PageSpace::UseLargePages() {
  populated_bytes_.store(page_count() * page_bytes(), std::memory_order_relaxed);
  return memory_->InsistOnHugePages(page_count() * page_bytes());
}

// One page ahead of those in use. A slice at a time: no turn shall take long.
bool PageSpace::PopulateAhead() {
  constexpr std::size_t kSliceBytes = std::size_t{256} << 10;
  const std::uint32_t used = used_until();
  if (used == 0 || used >= page_count()) return false;
  const std::size_t target = (std::size_t{used} + 1) << page_shift_;
  std::size_t populated = populated_bytes_.load(std::memory_order_relaxed);
  if (populated >= target) return false;
  const std::size_t start = std::max(populated, std::size_t{used} << page_shift_);
  const std::size_t slice = std::min(kSliceBytes, target - start);
  if (!populated_bytes_.compare_exchange_strong(populated, start + slice,
                                                std::memory_order_relaxed)) {
    return true;
  }
  memory_->Populate(start, slice);
  return start + slice < target;
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
  memory_->Return(std::size_t{page} << page_shift_, page_bytes());
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
