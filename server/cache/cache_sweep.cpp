// The sweep: expired and flushed items leave without being read.
//
// Each thread goes over its own pages, a few slots a turn, a pass at most once a second. Pages in
// which nothing is due are skipped by their bound, and what lies long is looked at rarely: a pass
// is followed by a pause that grows with the slots it has looked at.
#include <algorithm>
#include <cstdint>

#include "server/cache/cache_impl.h"
#include "server/cache/item_access.h"

namespace cache {
namespace {

constexpr std::size_t kSlotsASlice = 128;
constexpr std::size_t kPagesASlice = 64;
// At some 10 ns a slot this is a few hundredths of a processor.
constexpr std::uint64_t kSlotsASecond = std::uint64_t{4} << 20;

}  // namespace

bool Cache::Impl::Sweep() {
  if (!sweep.is_running) {
    if (now.steady_s < sweep.next_pass_s) return false;
    sweep = {.is_running = true};
  }
  std::size_t pages_left = kPagesASlice;
  for (std::size_t left = kSlotsASlice; left > 0; --left) {
    if (!sweep.is_in_page && !FindPageToSweep(&pages_left)) break;
    Page& page = shared->pages->At(sweep.page);
    const bool is_same = page.owner.load(std::memory_order_relaxed) == thread &&
                         page.class_id.load(std::memory_order_relaxed) == sweep.class_id;
    if (!is_same || sweep.slot >= page.carved_count) {
      sweep.is_in_page = false;
      continue;
    }
    const std::size_t slot_bytes = shared->sizes.SlotBytes(sweep.class_id);
    SweepSlot(&page, shared->pages->Start(sweep.page) + sweep.slot * slot_bytes);
    ++sweep.slot;
    ++sweep.slot_count;
  }
  return sweep.is_running;
}

// From a class's last page to its first: a page that leaves is replaced in the list by the last
// one. False when none was found yet, or the pass is over. The bound is made anew: see
// Page::LowerDue.
bool Cache::Impl::FindPageToSweep(std::size_t* pages_left) {
  const std::uint32_t generation = shared->flush.generation();
  for (; *pages_left > 0; --*pages_left) {
    const auto& pages = heap->slabs.PagesOf(sweep.class_id);
    sweep.position = std::min(sweep.position, pages.size());
    if (sweep.position == 0) {
      sweep.position = SIZE_MAX;
      if (sweep.class_id++ < shared->sizes.count()) continue;
      sweep.is_running = false;
      const std::uint64_t pause_s = 1 + sweep.slot_count / kSlotsASecond;
      sweep.next_pass_s = now.steady_s + static_cast<std::uint32_t>(pause_s);
      return false;
    }
    sweep.page = pages[--sweep.position];
    Page& page = shared->pages->At(sweep.page);
    if (!page.HasDue(now) && page.swept_generation.load(std::memory_order_relaxed) == generation)
      continue;
    page.ForgetDue();
    page.swept_generation.store(generation, std::memory_order_relaxed);
    sweep.slot = 0;
    sweep.is_in_page = true;
    return true;
  }
  return false;
}

void Cache::Impl::NoteForSweep(const Item* item, std::uint32_t generation) {
  Page& page = shared->pages->Of(item);
  if (page.owner.load(std::memory_order_relaxed) == thread) {
    page.LowerDueAsOwner(item->expiry());
  } else {
    page.LowerDue(item->expiry());
  }
  std::uint32_t swept = page.swept_generation.load(std::memory_order_relaxed);
  while (swept > generation && !page.swept_generation.compare_exchange_weak(
                                   swept, generation, std::memory_order_relaxed)) {
  }
}

// Pieces of chains leave with their heads.
void Cache::Impl::SweepSlot(Page* page, void* slot) {
  const std::uint8_t state_byte = ItemAccess::StateOf(slot).load(std::memory_order_acquire);
  if (static_cast<SlotKind>(state_byte & ItemAccess::kKindMask) != SlotKind::kLinked) return;
  auto* item = static_cast<Item*>(slot);
  stats::ClassBlock& counts = block->classes[sweep.class_id];
  counts.crawler_items_checked.Add();
  if (!IsDead(item)) {
    page->LowerDueAsOwner(item->expiry());
    return;
  }
  const bool is_flushed = shared->flush.Covers(item);
  const bool is_fetched = item->Has(Item::kFetched);
  if (!RemoveFromIndex(item)) return;
  counts.crawler_reclaimed.Add();
  if (!is_flushed && !is_fetched) counts.expired_unfetched.Add();
}

}  // namespace cache
