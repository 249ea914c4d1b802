#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "server/cache/shared_impl.h"

namespace cache {
namespace {

constexpr std::size_t kPageBytesMax = std::size_t{2} << 20;
constexpr std::size_t kPageBytesMin = std::size_t{4} << 10;
constexpr std::size_t kPagesPerThread = 256;
// Pages are not made smaller than this for their number's sake while a thread can have so many.
constexpr std::size_t kPageBytesGood = std::size_t{32} << 10;
constexpr std::size_t kPagesPerThreadMin = 64;
constexpr std::size_t kMemoryBytesMin = std::size_t{1} << 20;
constexpr std::size_t kSlotBytesMax = std::size_t{512} << 10;
constexpr std::size_t kSlotBytesMin = 32;
constexpr std::size_t kItemBytesMin = std::size_t{1} << 10;
constexpr std::size_t kItemBytesMax = std::size_t{1} << 30;
constexpr std::uint32_t kThreadsMax = 1024;

// Small enough that every thread can have pages of many classes.
std::size_t PageBytes(const Options& options) {
  const std::size_t share = options.memory_bytes / options.thread_count;
  const std::size_t most = std::bit_floor(share / kPagesPerThreadMin);
  const std::size_t wanted = std::max(std::bit_floor(share / kPagesPerThread), kPageBytesGood);
  return std::clamp(std::min(wanted, most), kPageBytesMin, kPageBytesMax);
}

// How far the limit can be raised: address space costs nothing.
std::uint32_t PageCountMax(const Options& options, std::size_t page_bytes,
                           std::uint32_t page_count) {
  if (!options.limit_may_rise) return page_count;
  constexpr std::size_t kTimesMax = 16;
  const auto system_pages = static_cast<std::size_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L));
  const std::size_t system_bytes = system_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t wanted = std::min(system_bytes / page_bytes, page_count * kTimesMax);
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(wanted, page_count, UINT32_MAX / 2));
}

std::size_t SlotBytesMin(const Options& options) {
  return std::max(kSlotBytesMin, (options.slot_bytes_min + 7) / 8 * 8);
}

std::size_t SlotBytesMax(const Options& options, std::size_t page_bytes) {
  constexpr std::size_t kLeast = 1024;
  const std::size_t fitting = std::min(kSlotBytesMax, page_bytes / 2);
  if (options.slot_bytes_max == 0) return fitting;
  return std::clamp(options.slot_bytes_max / 8 * 8, std::min(kLeast, fitting), fitting);
}

// The line for the user, or nothing.
std::string Check(const Options& options) {
  if (options.thread_count == 0 || options.thread_count > kThreadsMax) {
    return "the number of threads (-t) must be from 1 to " + std::to_string(kThreadsMax);
  }
  if (!(options.class_factor > 1.0)) return "the slab growth factor (-f) must be above 1";
  if (options.item_bytes_max < kItemBytesMin || options.item_bytes_max > kItemBytesMax) {
    return "the item size limit (-I) must be from 1 KB to 1 GB";
  }
  if (options.memory_bytes < kMemoryBytesMin) {
    return "the memory limit (-m) is too small: at least 1 MB is needed";
  }
  if (options.item_bytes_max > options.memory_bytes / 2) {
    return "the item size limit (-I) must be at most half of the memory limit (-m)";
  }
  if (SlotBytesMin(options) > PageBytes(options) / 2) {
    return "the smallest slot (-n) must be at most " + std::to_string(PageBytes(options) / 2) +
           " bytes with this memory limit (-m) and number of threads (-t)";
  }
  return "";
}

bool RandomSeed(std::uint64_t* seed, std::string* error) {
  if (getrandom(seed, sizeof *seed, 0) == static_cast<ssize_t>(sizeof *seed)) return true;
  *error = std::string("cannot get random bytes for the hash seed: ") + std::strerror(errno);
  return false;
}

}  // namespace

SharedCache::Impl::Impl(const Options& given, SizeClasses classes,
                        std::unique_ptr<PageSpace> page_space, std::unique_ptr<Index> key_index,
                        std::unique_ptr<GhostTable> ghost_table)
    : options(given),
      sizes(std::move(classes)),
      pages(std::move(page_space)),
      index(std::move(key_index)),
      ghosts(std::move(ghost_table)),
      epochs(given.thread_count) {
  for (std::uint32_t thread = 0; thread < given.thread_count; ++thread) {
    threads.push_back(std::make_unique<ThreadState>(pages.get(), &sizes, &heaps, thread));
    heaps.push_back(&threads.back()->heap);
  }
}

SharedCache::SharedCache(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SharedCache::~SharedCache() = default;

std::unique_ptr<SharedCache> SharedCache::Create(const Options& options, std::string* error) {
  *error = Check(options);
  if (!error->empty()) return nullptr;
  const std::size_t page_bytes = PageBytes(options);
  const auto page_count = static_cast<std::uint32_t>(options.memory_bytes / page_bytes);
  SizeClasses sizes(page_bytes, SlotBytesMin(options), SlotBytesMax(options, page_bytes),
                    options.class_factor);
  std::uint64_t seed = 0;
  if (!RandomSeed(&seed, error)) return nullptr;
  const std::uint32_t page_count_max = PageCountMax(options, page_bytes, page_count);
  auto pages = PageSpace::Reserve(page_bytes, page_count, page_count_max, error);
  if (pages == nullptr) return nullptr;
  pages->AllowHugePages();
  if (options.uses_large_pages) {
    *error = pages->UseLargePages();
    if (!error->empty()) return nullptr;
  }
  const std::size_t entries_max = page_bytes * page_count_max / sizes.SlotBytes(1);
  auto index = Index::Create(entries_max, seed, error);
  if (index == nullptr) return nullptr;
  auto ghosts = GhostTable::Reserve(entries_max, error);
  if (ghosts == nullptr) return nullptr;
  return std::unique_ptr<SharedCache>(new SharedCache(std::make_unique<Impl>(
      options, std::move(sizes), std::move(pages), std::move(index), std::move(ghosts))));
}

const Options& SharedCache::options() const { return impl_->options; }
std::size_t SharedCache::class_count() const { return impl_->sizes.count(); }
std::size_t SharedCache::SlotBytes(std::uint8_t class_id) const {
  return impl_->sizes.SlotBytes(class_id);
}

std::size_t SharedCache::page_bytes() const { return impl_->pages->page_bytes(); }
std::size_t SharedCache::memory_limit_bytes() const {
  return impl_->pages->page_count() * page_bytes();
}

std::size_t SharedCache::index_bytes() const { return impl_->index->memory_bytes(); }

LimitChange SharedCache::SetMemoryLimit(std::size_t bytes) {
  if (bytes < kMemoryBytesMin || bytes / 2 < options().item_bytes_max) {
    return LimitChange::kTooSmall;
  }
  const std::size_t page_count = bytes / page_bytes();
  if (page_count > impl_->pages->page_count_max()) return LimitChange::kTooLarge;
  impl_->pages->SetPageCount(static_cast<std::uint32_t>(page_count));
  return LimitChange::kOk;
}

void SharedCache::SetAutomove(Automove automove) {
  impl_->automove.store(automove, std::memory_order_relaxed);
}
Automove SharedCache::automove() const { return impl_->automove.load(std::memory_order_relaxed); }

bool SharedCache::is_moving() const {
  return impl_->reassign.load(std::memory_order_relaxed) != 0 ||
         impl_->moves_running.load(std::memory_order_relaxed) != 0;
}

Reassigned SharedCache::Reassign(int from_class, int to_class) {
  const auto count = static_cast<int>(class_count());
  if (from_class == to_class) return Reassigned::kSame;
  if (from_class > count || to_class < 0 || to_class > count) {
    return Reassigned::kBadClass;
  }
  const std::vector<ClassStats> classes = ReadClasses();
  auto from = static_cast<std::uint32_t>(std::max(from_class, 0));
  const auto to = static_cast<std::uint32_t>(to_class);
  for (std::uint32_t other = 1; from_class < 0 && other < classes.size(); ++other) {
    if (other != to && classes[other].page_count > classes[from].page_count) from = other;
  }
  if (classes[from].page_count < 2) return Reassigned::kNoSpare;
  if (is_moving()) return Reassigned::kBusy;
  std::uint32_t expected = 0;
  const bool is_first =
      impl_->reassign.compare_exchange_strong(expected, from << 8U | to, std::memory_order_relaxed);
  return is_first ? Reassigned::kOk : Reassigned::kBusy;
}

std::vector<ClassStats> SharedCache::ReadClasses() const {
  std::vector<ClassStats> classes(class_count() + 1);
  for (std::size_t at = 1; at <= class_count(); ++at) {
    const auto class_id = static_cast<std::uint8_t>(at);
    ClassStats& to = classes[class_id];
    to.slot_bytes = SlotBytes(class_id);
    to.slots_per_page = impl_->sizes.SlotsPerPage(class_id);
    for (const auto& thread : impl_->threads) {
      const ThreadState::ClassFigures& from = thread->classes[class_id];
      to.item_count += from.items;
      to.item_bytes += from.bytes;
      to.age_s = std::max<std::uint32_t>(to.age_s, from.age_s);
      to.evicted_idle_s = std::max<std::uint32_t>(to.evicted_idle_s, from.evicted_idle_s);
    }
  }
  for (std::uint32_t number = 0; number < impl_->pages->used_until(); ++number) {
    const Page& page = impl_->pages->At(number);
    const std::uint8_t class_id = page.class_id.load(std::memory_order_relaxed);
    if (class_id == 0 || class_id >= classes.size()) continue;
    ++classes[class_id].page_count;
    classes[class_id].used_count += page.used_count();
    classes[class_id].free_count += classes[class_id].slots_per_page - page.used_count();
  }
  return classes;
}

std::string SharedCache::Validate(std::size_t* item_count) const {
  std::string wrong = impl_->index->Validate(item_count);
  std::size_t page_count = 0;
  for (const auto& thread : impl_->threads) {
    if (!wrong.empty()) return wrong;
    wrong = thread->heap.slabs.Validate();
    page_count += thread->heap.slabs.page_count();
  }
  if (wrong.empty() && page_count != impl_->pages->held_count()) wrong = "a page is lost";
  return wrong;
}

}  // namespace cache
