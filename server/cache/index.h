// Index: the one table from key to item that all threads share.
//
// Lines of seven slots (index_line.h) in pairs of neighbours. A key's hash names its home line; an
// entry lies there, else in the neighbour, else in the home's chain of overflow lines. The table
// grows and shrinks one pair at a time by linear hashing (W. Litwin, "Linear hashing: a new tool
// for file and table addressing", VLDB 1980); nothing is ever rehashed as a whole.
//
// Readers take no lock and write nothing. A slot is one word, so what a slot holds is the item or
// was until a moment ago; only not finding a key needs proof, which is that the home's header has
// not changed meanwhile and the table's size still names the same home.
//
// A change is made in three steps: Look (no lock), Lock (succeeds only if nothing of this home has
// changed since), then Insert, Replace or Remove and Unlock. Whoever holds the writer bit of a home
// is alone with the entries of that home, wherever they lie. Empty slots of a pair are shared by
// its two homes and are therefore claimed by compare-and-swap.
//
// Items must stay readable while they are in the index and, after they were taken out, until all
// threads have passed a quiescent point (epochs.h). The index owns none of them.
//
// Owner: the SharedCache. Threads: any, on-line in Epochs; a Local and a Place are one thread's.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/cache/hash.h"
#include "server/cache/index_line.h"
#include "server/cache/item.h"
#include "server/cache/line_store.h"

namespace cache {

class Index {
 public:
  // What one thread keeps at hand: overflow lines, so that none is fetched under a writer bit, and
  // its share of the number of entries.
  struct Local {
    static constexpr std::size_t kLinesMax = 64;
    std::array<std::uint32_t, kLinesMax> lines{};
    std::size_t line_count = 0;
    std::int64_t entry_delta = 0;
  };

  // Where a key is, or would be.
  struct Place {
    IndexLine* home = nullptr;
    std::uint64_t header = 0;                    // As Look found it.
    LineHeader next{};                           // As Unlock will leave it.
    std::atomic<std::uint64_t>* slot = nullptr;  // Null: absent.
    Item* item = nullptr;
    std::uint16_t tag = 0;
  };

  static std::unique_ptr<Index> Create(std::size_t entry_count_max, std::uint64_t seed,
                                       std::string* error);

  [[nodiscard]] std::uint64_t Hash(std::string_view key) const { return HashKey(key, seed_); }
  void PrefetchHome(std::uint64_t hash) const { __builtin_prefetch(HomeOf(hash)); }
  // Waits for the home line if it has not come yet.
  void PrefetchItem(std::uint64_t hash) const;
  [[nodiscard]] Item* Find(std::uint64_t hash, std::string_view key) const;

  // -- Changing.
  [[nodiscard]] Place Look(std::uint64_t hash, std::string_view key) const;
  // False: the home has changed; look again. True: until Unlock nobody else changes it.
  [[nodiscard]] bool Lock(Place* place);
  void Unlock(const Place& place);
  // For a place with an item.
  void Replace(const Place& place, Item* item);
  void Remove(Place* place, Local* local);
  // For a place without. False: no room is left for index lines; nothing has changed.
  [[nodiscard]] bool Insert(Place* place, Item* item, Local* local);
  // To be called before Lock where an Insert is meant.
  void Refill(Local* local, std::size_t line_count = 1);

  // -- Size.
  [[nodiscard]] bool NeedsGrowth() const {
    const std::uint64_t pairs = pairs_.load(std::memory_order_relaxed);
    return entry_count_.load(std::memory_order_relaxed) >
               static_cast<std::int64_t>(pairs * kEntriesPerPair) &&
           pairs < pair_count_max_;
  }
  // True when two pairs hold less than one does when it is split: far from NeedsGrowth.
  [[nodiscard]] bool NeedsShrink() const {
    const std::uint64_t pairs = pairs_.load(std::memory_order_relaxed);
    return pairs > kPairsMin && entry_count_.load(std::memory_order_relaxed) <
                                    static_cast<std::int64_t>(pairs * kEntriesPerPairMin);
  }
  // Takes the last pair of lines away. False as GrowOne.
  bool ShrinkOne(Local* local);
  // How often a pair has been taken away.
  [[nodiscard]] std::uint64_t shrink_count() const {
    return shrink_count_.load(std::memory_order_relaxed);
  }
  // Gives the memory of the pairs taken away to the system. To be called when all threads have
  // passed a quiescent point since shrink_count was as told: headers that somebody may still
  // compare must not begin again.
  void ReturnMemory(std::uint64_t as_of_shrink_count);
  // Adds one pair of lines. False when another thread is at it, or there is no memory.
  bool GrowOne(Local* local);
  // But for what Locals hold.
  [[nodiscard]] std::size_t entry_count() const {
    const std::int64_t count = entry_count_.load(std::memory_order_relaxed);
    return count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  [[nodiscard]] std::uint64_t pair_count() const { return pairs_.load(std::memory_order_acquire); }
  [[nodiscard]] std::size_t memory_bytes() const {
    return (pair_count() * 2 + overflow_->taken_count()) * sizeof(IndexLine);
  }

  // Calls visit(Item*) for everything in one pair that stays there meanwhile. Entries that move
  // during the call may be met twice or not at all.
  template <typename Visit>
  void ForEachInPair(std::uint64_t pair, Visit visit) const;
  // Appends the entries of one pair to *items and returns the next cursor; 0 begins and ends.
  // Entries that are in the table from beginning to end are met, whatever its size does meanwhile.
  std::uint64_t CollectStep(std::uint64_t cursor, std::vector<Item*>* items) const;
  // Keeps the table from growing. Returns false when somebody else has it.
  [[nodiscard]] bool HoldSize() { return !is_resizing_.exchange(true, std::memory_order_acquire); }
  void FreeSize() { is_resizing_.store(false, std::memory_order_release); }

  // At rest: every entry in its place, every count right. *entry_count is how many there are.
  [[nodiscard]] std::string Validate(std::size_t* entry_count) const;

 private:
  static constexpr std::uint64_t kPairsMin = 512;
  // Of 14 slots. With more, chains get longer; with fewer, memory lies idle.
  static constexpr std::uint64_t kEntriesPerPair = 12;
  static constexpr std::uint64_t kEntriesPerPairMin = 5;
  static constexpr std::size_t kHomeEntriesMax = 256;

  // The entries of a pair's two homes, by the home's lowest bit.
  struct PairEntries {
    std::array<std::array<std::uint64_t, kHomeEntriesMax>, 2> words;
    std::array<std::size_t, 2> counts{};
    bool Add(std::uint64_t word);
    [[nodiscard]] std::size_t OverflowLinesMax() const;
  };
  struct LockedPair {
    std::array<IndexLine*, 2> lines;
    std::array<LineHeader, 2> headers;
  };

  Index(std::unique_ptr<LineStore> lines, std::unique_ptr<LineStore> overflow, std::uint64_t seed);

  [[nodiscard]] IndexLine* HomeOf(std::uint64_t hash) const {
    return lines_->At(LineNumber(hash, pairs_.load(std::memory_order_acquire)));
  }
  static std::size_t LineNumber(std::uint64_t hash, std::uint64_t pairs);
  static std::uint16_t HashTag(std::uint64_t hash);
  [[nodiscard]] IndexLine* NeighbourOf(const IndexLine* line) const;
  // The slot with this key among the entries of a home, or null.
  [[nodiscard]] std::atomic<std::uint64_t>* Scan(IndexLine* home, std::uint64_t header,
                                                 std::uint16_t tag, std::string_view key,
                                                 Item** item) const;
  static bool ClaimEmpty(IndexLine* line, std::uint64_t word);
  bool InsertOverflow(Place* place, std::uint64_t word, Local* local);
  // Takes an entry other than `hole` out of the overflow chain; 0 when there is none.
  std::uint64_t TakeFromOverflow(Place* place, const std::atomic<std::uint64_t>* hole,
                                 Local* local);
  void RemoveFromOverflow(Place* place, Local* local);
  void DropFirstOverflow(Place* place, Local* local);
  std::uint64_t TakeFromNeighbour(Place* place);
  void Count(Local* local, std::int64_t change);
  void GiveLine(std::uint32_t line, Local* local);

  // -- Growth and shrinking (index_resize.cpp).
  LockedPair LockPair(std::uint64_t pair);
  static void UnlockPair(const LockedPair& pair, bool changed);
  bool Gather(const LockedPair& pair, PairEntries* entries) const;
  void LayOut(LockedPair* pair, const PairEntries& entries, Local* local);
  std::uint32_t ChainRest(const PairEntries& entries, std::size_t home, std::size_t from,
                          Local* local);
  void GiveChain(std::uint32_t first, Local* local);
  bool Split(std::uint64_t pairs, LockedPair* low, Local* local, std::size_t* lines_missing);

  bool Merge(std::uint64_t pairs, LockedPair* low, LockedPair* high, Local* local,
             std::size_t* lines_missing);

  std::unique_ptr<LineStore> lines_;
  std::unique_ptr<LineStore> overflow_;
  std::uint64_t seed_;
  std::uint64_t pair_count_max_;
  // Pairs in use. Writer: who holds is_resizing_. Readers: all; they validate.
  alignas(64) std::atomic<std::uint64_t> pairs_{kPairsMin};
  alignas(64) std::atomic<std::int64_t> entry_count_{0};  // But for what Locals hold.
  std::atomic<bool> is_resizing_{false};
  // Writer: who holds is_resizing_.
  std::uint64_t touched_pairs_ = kPairsMin;  // Lines from here on have no memory.
  std::atomic<std::uint64_t> shrink_count_{0};
};

template <typename Visit>
void Index::ForEachInPair(std::uint64_t pair, Visit visit) const {
  const auto visit_line = [&visit](const IndexLine& line) {
    for (const auto& slot : line.slots) {
      const std::uint64_t word = slot.load(std::memory_order_acquire);
      if (word != 0) visit(ItemIn(word));
    }
  };
  for (std::size_t line = pair * 2; line < pair * 2 + 2; ++line) {
    visit_line(*lines_->At(line));
    const std::uint64_t header = lines_->At(line)->header.load(std::memory_order_acquire);
    std::uint32_t number = LineHeader::From(header).overflow;
    for (std::size_t hops = 0; number != 0 && hops < kHomeEntriesMax; ++hops) {
      visit_line(*overflow_->At(number));
      number =
          static_cast<std::uint32_t>(overflow_->At(number)->header.load(std::memory_order_acquire));
    }
  }
}

}  // namespace cache
