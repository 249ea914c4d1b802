// Growth of the Index: a pair of lines is split in two; and shrinking, the same backwards.
//
// Both homes of the pair are locked, so its entries stand still. The new pair is laid out while
// nobody can see it, the table's size is published, and the old pair is laid out anew. Readers that
// come to the old pair meanwhile find what they look for or see the writer bit and try again.
#include <algorithm>
#include <bit>

#include "coro/ensure.h"
#include "server/cache/index.h"
#include "server/cache/spin.h"

namespace cache {

bool Index::PairEntries::Add(std::uint64_t word) {
  const std::size_t home = TagOf(word) & 1U;
  if (counts[home] == kHomeEntriesMax) return false;
  words[home][counts[home]++] = word;
  return true;
}

std::size_t Index::PairEntries::OverflowLinesMax() const {
  std::size_t line_count = 0;
  for (const std::size_t count : counts) {
    if (count > kLineSlots) line_count += (count - 1) / kLineSlots;
  }
  return line_count;
}

// Who locks two homes is alone in doing so (is_resizing_) and others hold but one: no deadlock.
Index::LockedPair Index::LockPair(std::uint64_t pair) {
  LockedPair locked{};
  for (std::size_t home = 0; home < 2; ++home) {
    IndexLine* line = lines_->At(pair * 2 + home);
    for (Spin spin;; spin.Wait()) {
      std::uint64_t header = line->header.load(std::memory_order_relaxed);
      if ((header & LineHeader::kWriter) == 0 &&
          line->header.compare_exchange_strong(header, header | LineHeader::kWriter,
                                               std::memory_order_acq_rel,
                                               std::memory_order_relaxed)) {
        locked.headers[home] = LineHeader::From(header);
        break;
      }
    }
    locked.lines[home] = line;
  }
  return locked;
}

void Index::UnlockPair(const LockedPair& pair, bool changed) {
  for (std::size_t home = 0; home < 2; ++home) {
    LineHeader header = pair.headers[home];
    if (changed) ++header.version;
    pair.lines[home]->header.store(header.Bits(), std::memory_order_release);
  }
}

bool Index::Gather(const LockedPair& pair, PairEntries* entries) const {
  const auto gather_line = [entries](const IndexLine& line) {
    for (const auto& slot : line.slots) {
      const std::uint64_t word = slot.load(std::memory_order_relaxed);
      if (word != 0 && !entries->Add(word)) return false;
    }
    return true;
  };
  for (std::size_t home = 0; home < 2; ++home) {
    if (!gather_line(*pair.lines[home])) return false;
    for (std::uint32_t number = pair.headers[home].overflow; number != 0;) {
      const IndexLine* line = overflow_->At(number);
      if (!gather_line(*line)) return false;
      number = static_cast<std::uint32_t>(line->header.load(std::memory_order_relaxed));
    }
  }
  return true;
}

// Entries from `from` on go into a new chain of which only the first line may have empty slots.
std::uint32_t Index::ChainRest(const PairEntries& entries, std::size_t home, std::size_t from,
                               Local* local) {
  std::uint32_t first = 0;
  for (std::size_t end = entries.counts[home]; end > from;) {
    ENSURE(local->line_count > 0);
    const std::uint32_t number = local->lines[--local->line_count];
    IndexLine* line = overflow_->At(number);
    for (std::size_t slot = 0; slot < kLineSlots && end > from; ++slot) {
      line->slots[slot].store(entries.words[home][--end], std::memory_order_release);
    }
    line->header.store(first, std::memory_order_release);
    first = number;
  }
  return first;
}

void Index::LayOut(LockedPair* pair, const PairEntries& entries, Local* local) {
  std::array<std::array<std::uint64_t, kLineSlots>, 2> slots{};
  std::array<std::size_t, 2> used{};
  std::array<std::size_t, 2> placed{};
  for (std::size_t home = 0; home < 2; ++home) {
    while (used[home] < kLineSlots && placed[home] < entries.counts[home]) {
      slots[home][used[home]++] = entries.words[home][placed[home]++];
    }
  }
  for (std::size_t home = 0; home < 2; ++home) {
    const std::size_t guest_of = home ^ 1U;
    pair->headers[home].spilled_count = 0;
    while (used[guest_of] < kLineSlots && placed[home] < entries.counts[home]) {
      slots[guest_of][used[guest_of]++] = entries.words[home][placed[home]++];
      ++pair->headers[home].spilled_count;
    }
    pair->headers[home].overflow = ChainRest(entries, home, placed[home], local);
  }
  for (std::size_t home = 0; home < 2; ++home) {
    for (std::size_t slot = 0; slot < kLineSlots; ++slot) {
      pair->lines[home]->slots[slot].store(slots[home][slot], std::memory_order_release);
    }
  }
}

void Index::GiveChain(std::uint32_t first, Local* local) {
  while (first != 0) {
    IndexLine* line = overflow_->At(first);
    const auto next = static_cast<std::uint32_t>(line->header.load(std::memory_order_relaxed));
    for (auto& slot : line->slots) slot.store(0, std::memory_order_release);
    GiveLine(first, local);
    first = next;
  }
}

// With both homes of the low pair locked. False when it cannot be done now: nothing has changed.
bool Index::Split(std::uint64_t pairs, LockedPair* low, Local* local, std::size_t* lines_missing) {
  PairEntries all;
  if (!Gather(*low, &all)) return false;
  PairEntries stay;
  PairEntries go;
  for (std::size_t home = 0; home < 2; ++home) {
    for (std::size_t entry = 0; entry < all.counts[home]; ++entry) {
      const std::uint64_t word = all.words[home][entry];
      const std::uint64_t line = LineNumber(Hash(ItemIn(word)->key()), pairs + 1);
      (line / 2 == pairs ? go : stay).Add(word);
    }
  }
  const std::size_t lines_needed = stay.OverflowLinesMax() + go.OverflowLinesMax();
  if (lines_needed > local->line_count) {
    *lines_missing = lines_needed;
    return false;
  }
  LockedPair high = LockPair(pairs);
  LayOut(&high, go, local);
  UnlockPair(high, true);
  pairs_.store(pairs + 1, std::memory_order_release);
  const std::array<std::uint32_t, 2> old_chains{low->headers[0].overflow, low->headers[1].overflow};
  LayOut(low, stay, local);
  for (const std::uint32_t chain : old_chains) GiveChain(chain, local);
  return true;
}

bool Index::GrowOne(Local* local) {
  if (!HoldSize()) return false;
  const std::uint64_t pairs = pairs_.load(std::memory_order_relaxed);
  bool grown = false;
  if (pairs < pair_count_max_) {
    const std::uint64_t low_pair = pairs - std::bit_floor(pairs);
    ForEachInPair(low_pair, [](const Item* item) { __builtin_prefetch(item); });
    for (std::size_t lines_missing = 1; !grown && lines_missing > 0;) {
      Refill(local, lines_missing);
      if (local->line_count < lines_missing) break;
      lines_missing = 0;
      LockedPair low = LockPair(low_pair);
      grown = Split(pairs, &low, local, &lines_missing);
      UnlockPair(low, grown);
    }
  }
  if (grown) touched_pairs_ = std::max(touched_pairs_, pairs + 1);
  FreeSize();
  return grown;
}

// With all homes locked. The entries of the high pair are in both for a moment: whichever a reader
// goes to, it finds them.
bool Index::Merge(std::uint64_t pairs, LockedPair* low, LockedPair* high, Local* local,
                  std::size_t* lines_missing) {
  PairEntries all;
  if (!Gather(*low, &all) || !Gather(*high, &all)) return false;
  const std::size_t lines_needed = all.OverflowLinesMax();
  if (lines_needed > local->line_count) {
    *lines_missing = lines_needed;
    return false;
  }
  const std::array<std::uint32_t, 4> old_chains{low->headers[0].overflow, low->headers[1].overflow,
                                                high->headers[0].overflow,
                                                high->headers[1].overflow};
  LayOut(low, all, local);
  pairs_.store(pairs - 1, std::memory_order_release);
  LayOut(high, PairEntries{}, local);
  for (const std::uint32_t chain : old_chains) GiveChain(chain, local);
  return true;
}

bool Index::ShrinkOne(Local* local) {
  if (!HoldSize()) return false;
  const std::uint64_t pairs = pairs_.load(std::memory_order_relaxed);
  bool shrunk = false;
  if (pairs > kPairsMin) {
    const std::uint64_t high_pair = pairs - 1;
    const std::uint64_t low_pair = high_pair - std::bit_floor(high_pair);
    for (std::size_t lines_missing = 1; !shrunk && lines_missing > 0;) {
      Refill(local, lines_missing);
      if (local->line_count < lines_missing) break;
      lines_missing = 0;
      LockedPair low = LockPair(low_pair);
      LockedPair high = LockPair(high_pair);
      shrunk = Merge(pairs, &low, &high, local, &lines_missing);
      UnlockPair(high, shrunk);
      UnlockPair(low, shrunk);
    }
  }
  if (shrunk) shrink_count_.fetch_add(1, std::memory_order_relaxed);
  FreeSize();
  return shrunk;
}

void Index::ReturnMemory(std::uint64_t as_of_shrink_count) {
  if (!HoldSize()) return;
  if (shrink_count() == as_of_shrink_count) {
    const std::uint64_t pairs = pairs_.load(std::memory_order_relaxed);
    lines_->Return(pairs * 2, touched_pairs_ * 2);
    touched_pairs_ = pairs;
  }
  FreeSize();
}

std::string Index::Validate(std::size_t* entry_count) const {
  const std::uint64_t pairs = pair_count();
  *entry_count = 0;
  for (std::uint64_t pair = 0; pair < pairs; ++pair) {
    LockedPair view{};
    for (std::size_t home = 0; home < 2; ++home) {
      view.lines[home] = lines_->At(pair * 2 + home);
      const std::uint64_t header = view.lines[home]->header.load(std::memory_order_acquire);
      if ((header & LineHeader::kWriter) != 0) return "a writer bit is set";
      view.headers[home] = LineHeader::From(header);
    }
    PairEntries entries;
    if (!Gather(view, &entries)) return "a home has too many entries";
    for (std::size_t home = 0; home < 2; ++home) {
      std::size_t guest_count = 0;
      for (const auto& slot : view.lines[home ^ 1U]->slots) {
        const std::uint64_t word = slot.load(std::memory_order_relaxed);
        if (word != 0 && (TagOf(word) & 1U) == home) ++guest_count;
      }
      if (guest_count != view.headers[home].spilled_count) return "a count of guests is wrong";
      for (std::size_t entry = 0; entry < entries.counts[home]; ++entry) {
        const std::uint64_t word = entries.words[home][entry];
        const std::uint64_t hash = Hash(ItemIn(word)->key());
        if (HashTag(hash) != TagOf(word)) return "a tag is wrong";
        if (LineNumber(hash, pairs) != pair * 2 + home) return "an entry is far from home";
        Item* found = Find(hash, ItemIn(word)->key());
        if (found != ItemIn(word)) return "an entry is not found, or there are two of a key";
      }
      *entry_count += entries.counts[home];
    }
  }
  return "";
}

}  // namespace cache
