// Pages, epochs, limbo, slabs and heaps, each by itself.
#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "server/cache/heap.h"
#include "server/cache/item_access.h"
#include "test/cache/fixture.h"

namespace cache {
namespace {

constexpr std::size_t kPageBytes = 4096;

std::unique_ptr<PageSpace> Pages(std::uint32_t count) {
  std::string error;
  auto pages = PageSpace::Reserve(kPageBytes, count, 2 * count, &error);
  REQUIRE_MESSAGE(pages != nullptr, error);
  return pages;
}

TEST_CASE("the pool gives every page once, aligned") {
  const auto pages = Pages(10);
  std::set<std::uint32_t> seen;
  for (std::uint32_t page = 0; page < 10; ++page) seen.insert(pages->TakeFree());
  CHECK(seen.size() == 10);
  CHECK(*seen.rbegin() == 9);
  CHECK(pages->TakeFree() == PageSpace::kNone);
  CHECK(reinterpret_cast<std::uintptr_t>(pages->Start(3)) % kPageBytes == 0);
  CHECK(pages->NumberOf(pages->Start(3) + kPageBytes - 1) == 3);
  pages->GiveFree(4);
  CHECK(pages->TakeFree() == 4);
}

TEST_CASE("the limit of pages held can rise and fall, and what is beyond it is told") {
  const auto pages = Pages(4);
  std::vector<std::uint32_t> held;
  for (int n = 0; n < 4; ++n) held.push_back(pages->TakeFree());
  CHECK(pages->TakeFree() == PageSpace::kNone);
  pages->SetPageCount(6);
  held.push_back(pages->TakeFree());
  held.push_back(pages->TakeFree());
  CHECK(held.back() != PageSpace::kNone);
  CHECK(pages->TakeFree() == PageSpace::kNone);
  pages->SetPageCount(3);
  CHECK(pages->excess_count() == 3);
  for (int n = 0; n < 3; ++n) {
    pages->GiveFree(held.back());
    held.pop_back();
  }
  CHECK(pages->excess_count() == 0);
  CHECK(pages->TakeFree() == PageSpace::kNone);
  pages->GiveFree(held.back());
  CHECK(pages->free_count() == 1);
}

TEST_CASE("pages given back beyond the limit, and free ones below it, lose their memory") {
  const auto pages = Pages(4);
  const std::uint32_t kept = pages->TakeFree();
  const std::uint32_t freed = pages->TakeFree();
  const std::uint32_t beyond = pages->TakeFree();
  for (const std::uint32_t page : {kept, freed, beyond}) *pages->Start(page) = 'x';
  pages->GiveFree(freed);
  CHECK(*pages->Start(freed) == 'x');
  pages->SetPageCount(1);
  CHECK(*pages->Start(freed) == 0);
  pages->GiveFree(beyond);
  CHECK(*pages->Start(beyond) == 0);
  CHECK(*pages->Start(kept) == 'x');
}

TEST_CASE("threads that take and give pages at once never share one") {
  const auto pages = Pages(8);
  std::vector<std::atomic<int>> holders(8);
  std::atomic<bool> is_shared{false};
  OnThreads(4, [&](std::uint32_t) {
    for (int round = 0; round < 20000; ++round) {
      const std::uint32_t page = pages->TakeFree();
      if (page == PageSpace::kNone) continue;
      if (holders[page].fetch_add(1) != 0) is_shared = true;
      holders[page].fetch_sub(1);
      pages->GiveFree(page);
    }
  });
  CHECK_FALSE(is_shared);
  CHECK(pages->free_count() == 8);
}

TEST_CASE("a stamp is past when every thread on-line has quiesced since") {
  Epochs epochs(3);
  epochs.Enter(0);
  epochs.Enter(1);
  const std::uint64_t stamp = epochs.Advance();
  CHECK(epochs.SafeEpoch() < stamp);
  epochs.Quiesce(0);
  CHECK(epochs.SafeEpoch() < stamp);
  epochs.Quiesce(1);
  CHECK(epochs.SafeEpoch() >= stamp);
}

TEST_CASE("an off-line thread holds nobody up, and one that enters later neither") {
  Epochs epochs(2);
  epochs.Enter(0);
  epochs.Enter(1);
  const std::uint64_t stamp = epochs.Advance();
  epochs.Quiesce(0);
  epochs.Leave(1);
  CHECK(epochs.SafeEpoch() >= stamp);
  epochs.Enter(1);
  CHECK(epochs.SafeEpoch() >= stamp);
}

TEST_CASE("only a thread that is off-line can be borrowed, by one at a time") {
  Epochs epochs(1);
  CHECK(epochs.TryBorrow(0));
  CHECK_FALSE(epochs.TryBorrow(0));
  epochs.GiveBack(0);
  epochs.Enter(0);
  CHECK_FALSE(epochs.TryBorrow(0));
  epochs.Leave(0);
  CHECK(epochs.TryBorrow(0));
}

TEST_CASE("limbo gives items out in their batches, pinned ones when the last pin is gone") {
  Epochs epochs(1);
  epochs.Enter(0);
  alignas(8) std::array<std::array<char, 64>, 3> slots{};
  std::vector<Item*> items;
  for (auto& slot : slots) {
    items.push_back(ItemAccess::Make(slot.data(), ItemPlan{.key = "k"}, 0));
    ItemAccess::TakePin(items.back());
  }
  REQUIRE(ItemAccess::AddPin(items[1]));
  Limbo limbo(std::size_t{1} << 20);
  std::vector<Item*> freed;
  const auto collect = [&] {
    limbo.Collect(epochs.SafeEpoch(), [&freed](Item* item) { freed.push_back(item); });
  };
  limbo.Retire(items[0], 64, &epochs);
  limbo.Retire(items[1], 64, &epochs);
  limbo.Close(&epochs);
  limbo.Retire(items[2], 64, &epochs);
  collect();
  CHECK(freed.empty());
  epochs.Quiesce(0);
  collect();
  CHECK(freed == std::vector<Item*>{items[0]});
  CHECK(limbo.waiting_count() == 1);
  ItemAccess::TakePin(items[1]);
  collect();
  CHECK(freed == std::vector<Item*>{items[0], items[1]});
  limbo.Close(&epochs);
  epochs.Quiesce(0);
  collect();
  CHECK(freed.size() == 3);
}

TEST_CASE("a batch of limbo closes by itself by count and by bytes") {
  Epochs epochs(1);
  alignas(8) std::array<char, 64> slot{};
  Item* item = ItemAccess::Make(slot.data(), ItemPlan{.key = "k"}, 0);
  Limbo by_count(1000000);
  for (std::size_t n = 1; n < Limbo::kBatchItems; ++n) by_count.Retire(item, 1, &epochs);
  CHECK_FALSE(by_count.has_closed());
  by_count.Retire(item, 1, &epochs);
  CHECK(by_count.has_closed());
  Limbo by_bytes(1000);
  by_bytes.Retire(item, 999, &epochs);
  CHECK_FALSE(by_bytes.has_closed());
  by_bytes.Retire(item, 1, &epochs);
  CHECK(by_bytes.has_closed());
}

// Slots of random classes are taken and given back in random order; no two overlap.
TEST_CASE("a slab allocator gives disjoint slots and gets its counts right") {
  std::mt19937_64 random(PrintedSeed());
  const auto pages = Pages(32);
  const SizeClasses classes(kPageBytes, 48, kPageBytes / 2, 1.3);
  SlabAllocator slabs(pages.get(), &classes, 0);
  std::vector<std::pair<char*, std::uint8_t>> held;
  for (int step = 0; step < 20000; ++step) {
    if (random() % 100 < (step / 2000 % 2 == 0 ? 60U : 40U)) {
      const auto class_id = static_cast<std::uint8_t>(1 + random() % classes.count());
      void* slot = slabs.Take(class_id);
      if (slot == nullptr) {
        const std::uint32_t page = pages->TakeFree();
        if (page == PageSpace::kNone) continue;
        slabs.AddPage(page, class_id);
        slot = slabs.Take(class_id);
      }
      ItemAccess::StateOf(slot).store(static_cast<std::uint8_t>(SlotKind::kPrivate));
      held.emplace_back(static_cast<char*>(slot), class_id);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      slabs.Give(held.back().first);
      held.pop_back();
    }
    if (step % 100 == 0) REQUIRE(slabs.Validate() == "");
  }
  std::sort(held.begin(), held.end());
  for (std::size_t at = 1; at < held.size(); ++at) {
    CHECK(held[at - 1].first + classes.SlotBytes(held[at - 1].second) <= held[at].first);
  }
  for (const auto& [slot, class_id] : held) slabs.Give(slot);
  CHECK(slabs.Validate() == "");
  CHECK(slabs.page_count() <= classes.count());
}

TEST_CASE("a drained page gives no more slots and goes to the pool with its last one") {
  const auto pages = Pages(2);
  const SizeClasses classes(kPageBytes, 1024, kPageBytes / 2, 2.0);
  SlabAllocator slabs(pages.get(), &classes, 0);
  slabs.AddPage(pages->TakeFree(), 1);
  void* first = slabs.Take(1);
  void* second = slabs.Take(1);
  slabs.Drain(pages->NumberOf(first), 0);
  CHECK(slabs.AvailableCount(1) == 0);
  CHECK(slabs.Take(1) == nullptr);
  CHECK(slabs.NextSlot(1) == nullptr);
  slabs.Give(first);
  CHECK(pages->free_count() == 1);
  CHECK(slabs.Validate() == "");
  slabs.Give(second);
  CHECK(pages->free_count() == 2);
  CHECK(slabs.page_count() == 0);
  CHECK(slabs.Validate() == "");
}

TEST_CASE("slots of another heap go home by post") {
  const auto pages = Pages(4);
  const SizeClasses classes(kPageBytes, 64, kPageBytes / 2, 2.0);
  std::vector<Heap*> heaps;
  Heap home(pages.get(), &classes, &heaps, 0);
  Heap away(pages.get(), &classes, &heaps, 1);
  heaps = {&home, &away};
  home.slabs.AddPage(pages->TakeFree(), 1);
  std::vector<void*> slots;
  slots.reserve(40);
  for (int n = 0; n < 40; ++n) slots.push_back(home.slabs.Take(1));
  const std::size_t left_count = home.slabs.AvailableCount(1);
  for (void* slot : slots) away.FreeSlot(slot);
  away.PostAll();
  CHECK(home.slabs.AvailableCount(1) == left_count);
  CHECK(home.has_mail());
  home.EmptyInbox();
  CHECK(home.slabs.AvailableCount(1) == left_count + 40);
  CHECK(home.slabs.Validate() == "");
  CHECK(away.slabs.Validate() == "");
}

}  // namespace
}  // namespace cache
