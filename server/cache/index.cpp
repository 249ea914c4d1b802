#include "server/cache/index.h"

#include <algorithm>
#include <bit>

#include "coro/ensure.h"
#include "server/cache/spin.h"

namespace cache {

std::unique_ptr<Index> Index::Create(std::size_t entry_count_max, std::uint64_t seed,
                                     std::string* error) {
  const std::size_t pairs =
      std::max<std::size_t>(entry_count_max / kEntriesPerPair + kPairsMin, 2 * kPairsMin);
  auto lines = LineStore::Reserve(pairs * 2, error);
  if (lines == nullptr) return nullptr;
  const std::size_t overflow_count =
      std::min<std::size_t>(pairs * 2, std::size_t{LineHeader::kOverflowMax});
  auto overflow = LineStore::Reserve(overflow_count, error);
  if (overflow == nullptr) return nullptr;
  return std::unique_ptr<Index>(new Index(std::move(lines), std::move(overflow), seed));
}

Index::Index(std::unique_ptr<LineStore> lines, std::unique_ptr<LineStore> overflow,
             std::uint64_t seed)
    : lines_(std::move(lines)),
      overflow_(std::move(overflow)),
      seed_(seed),
      pair_count_max_(lines_->line_count() / 2) {
  lines_->AllowHugePages();
}

std::size_t Index::LineNumber(std::uint64_t hash, std::uint64_t pairs) {
  const std::uint64_t mask = (std::uint64_t{1} << std::bit_width(pairs)) - 1;
  std::uint64_t pair = (hash >> 1U) & mask;
  if (pair >= pairs) pair &= mask >> 1U;
  return pair * 2 + (hash & 1U);
}

std::uint16_t Index::HashTag(std::uint64_t hash) {
  return static_cast<std::uint16_t>((hash >> kTagShift & 0xfffeU) | (hash & 1U));
}

IndexLine* Index::NeighbourOf(const IndexLine* line) const {
  return lines_->At(static_cast<std::size_t>(line - lines_->At(0)) ^ 1U);
}

void Index::PrefetchItem(std::uint64_t hash) const {
  const IndexLine* home = HomeOf(hash);
  const unsigned matches = MatchTags(*home, HashTag(hash));
  if (matches == 0) return;
  const auto slot = static_cast<std::size_t>(std::countr_zero(matches));
  const Item* item = ItemIn(home->slots[slot].load(std::memory_order_relaxed));
  if (item == nullptr) return;  // The tag is that of an empty slot.
  __builtin_prefetch(item);
  __builtin_prefetch(reinterpret_cast<const char*>(item) + sizeof(IndexLine) - 1);
}

std::atomic<std::uint64_t>* Index::Scan(IndexLine* home, std::uint64_t header, std::uint16_t tag,
                                        std::string_view key, Item** item) const {
  const auto scan_line = [tag, key, item](IndexLine* line) -> std::atomic<std::uint64_t>* {
    for (unsigned matches = MatchTags(*line, tag); matches != 0; matches &= matches - 1) {
      auto& slot = line->slots[static_cast<std::size_t>(std::countr_zero(matches))];
      const std::uint64_t word = slot.load(std::memory_order_acquire);
      if (word == 0 || TagOf(word) != tag) continue;
      if (ItemIn(word)->key() != key) continue;
      *item = ItemIn(word);
      return &slot;
    }
    return nullptr;
  };
  if (auto* slot = scan_line(home)) return slot;
  const LineHeader fields = LineHeader::From(header);
  if (fields.spilled_count > 0) {
    if (auto* slot = scan_line(NeighbourOf(home))) return slot;
  }
  // A chain that changes under the reader may lead it astray, but not for ever.
  std::uint32_t number = fields.overflow;
  for (std::size_t hops = 0; number != 0 && hops < kHomeEntriesMax; ++hops) {
    IndexLine* line = overflow_->At(number);
    if (auto* slot = scan_line(line)) return slot;
    number = static_cast<std::uint32_t>(line->header.load(std::memory_order_acquire));
  }
  return nullptr;
}

Item* Index::Find(std::uint64_t hash, std::string_view key) const {
  const std::uint16_t tag = HashTag(hash);
  for (Spin spin;; spin.Wait()) {
    IndexLine* home = HomeOf(hash);
    const std::uint64_t header = home->header.load(std::memory_order_acquire);
    Item* item = nullptr;
    if (Scan(home, header, tag, key, &item) != nullptr) return item;
    FenceAfterMatch();
    if ((header & LineHeader::kWriter) == 0 &&
        home->header.load(std::memory_order_acquire) == header && HomeOf(hash) == home) {
      return nullptr;
    }
  }
}

Index::Place Index::Look(std::uint64_t hash, std::string_view key) const {
  Place place;
  place.tag = HashTag(hash);
  for (Spin spin;; spin.Wait()) {
    place.home = HomeOf(hash);
    place.header = place.home->header.load(std::memory_order_acquire);
    if ((place.header & LineHeader::kWriter) != 0) continue;
    place.next = LineHeader::From(place.header);
    place.slot = Scan(place.home, place.header, place.tag, key, &place.item);
    if (place.slot != nullptr) return place;
    FenceAfterMatch();
    if (place.home->header.load(std::memory_order_acquire) == place.header &&
        HomeOf(hash) == place.home) {
      return place;
    }
  }
}

bool Index::Lock(Place* place) {
  std::uint64_t expected = place->header;
  return place->home->header.compare_exchange_strong(expected, place->header | LineHeader::kWriter,
                                                     std::memory_order_acq_rel,
                                                     std::memory_order_relaxed);
}

void Index::Unlock(const Place& place) {
  LineHeader next = place.next;
  ++next.version;
  place.home->header.store(next.Bits(), std::memory_order_release);
}

// Readers order their loads of slots before that of the header: slot stores release, so that who
// sees one also sees the writer bit that was set before it.
void Index::Replace(const Place& place, Item* item) {
  place.slot->store(WordFor(place.tag, item), std::memory_order_release);
}

bool Index::ClaimEmpty(IndexLine* line, std::uint64_t word) {
  for (auto& slot : line->slots) {
    std::uint64_t expected = slot.load(std::memory_order_relaxed);
    if (expected == 0 && slot.compare_exchange_strong(expected, word, std::memory_order_acq_rel,
                                                      std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

bool Index::Insert(Place* place, Item* item, Local* local) {
  const std::uint64_t word = WordFor(place->tag, item);
  if (!ClaimEmpty(place->home, word)) {
    if (ClaimEmpty(NeighbourOf(place->home), word)) {
      ++place->next.spilled_count;
    } else if (!InsertOverflow(place, word, local)) {
      return false;
    }
  }
  Count(local, 1);
  return true;
}

bool Index::InsertOverflow(Place* place, std::uint64_t word, Local* local) {
  if (place->next.overflow != 0 && ClaimEmpty(overflow_->At(place->next.overflow), word)) {
    return true;
  }
  if (local->line_count == 0) return false;
  const std::uint32_t number = local->lines[--local->line_count];
  IndexLine* line = overflow_->At(number);
  line->slots[0].store(word, std::memory_order_release);
  line->header.store(place->next.overflow, std::memory_order_release);
  place->next.overflow = number;
  return true;
}

// The hole is filled from further out, so that entries are where they are found soonest.
void Index::Remove(Place* place, Local* local) {
  auto* line = reinterpret_cast<IndexLine*>(reinterpret_cast<std::uintptr_t>(place->slot) &
                                            ~(sizeof(IndexLine) - 1));
  Count(local, -1);
  if (line != place->home && line != NeighbourOf(place->home)) {
    RemoveFromOverflow(place, local);
    return;
  }
  std::uint64_t word = TakeFromOverflow(place, nullptr, local);
  if (word == 0 && line == place->home) word = TakeFromNeighbour(place);
  if (word == 0 && line != place->home) --place->next.spilled_count;
  place->slot->store(word, std::memory_order_release);
}

void Index::RemoveFromOverflow(Place* place, Local* local) {
  const std::uint64_t word = TakeFromOverflow(place, place->slot, local);
  if (word != 0) {
    place->slot->store(word, std::memory_order_release);
    return;
  }
  // It was the only entry of the first line.
  place->slot->store(0, std::memory_order_release);
  DropFirstOverflow(place, local);
}

// Only the first line of a chain has empty slots. Readers that look for the entry on its way find
// it in neither place at worst, and then see the writer bit.
std::uint64_t Index::TakeFromOverflow(Place* place, const std::atomic<std::uint64_t>* hole,
                                      Local* local) {
  if (place->next.overflow == 0) return 0;
  IndexLine* line = overflow_->At(place->next.overflow);
  std::uint64_t taken = 0;
  std::size_t left_count = 0;
  for (auto& slot : line->slots) {
    const std::uint64_t word = slot.load(std::memory_order_relaxed);
    if (word == 0) continue;
    if (taken == 0 && &slot != hole) {
      taken = word;
      slot.store(0, std::memory_order_release);
    } else {
      ++left_count;
    }
  }
  if (left_count == 0 && taken != 0) DropFirstOverflow(place, local);
  return taken;
}

void Index::DropFirstOverflow(Place* place, Local* local) {
  const std::uint32_t number = place->next.overflow;
  place->next.overflow =
      static_cast<std::uint32_t>(overflow_->At(number)->header.load(std::memory_order_relaxed));
  GiveLine(number, local);
}

std::uint64_t Index::TakeFromNeighbour(Place* place) {
  if (place->next.spilled_count == 0) return 0;
  for (auto& slot : NeighbourOf(place->home)->slots) {
    const std::uint64_t word = slot.load(std::memory_order_relaxed);
    if (word == 0 || (TagOf(word) & 1U) != (place->tag & 1U)) continue;
    slot.store(0, std::memory_order_release);
    --place->next.spilled_count;
    return word;
  }
  ENSURE(false);
  return 0;
}

namespace {

std::uint64_t Reverse(std::uint64_t bits) {
  std::uint64_t reversed = 0;
  for (unsigned bit = 0; bit < 64; ++bit) reversed |= (bits >> bit & 1U) << (63U - bit);
  return reversed;
}

}  // namespace

// The cursor goes through the hashes in the order of their reversed bits, in which what a pair is
// split into lies next to each other: a split or a merge changes the width of steps, not what they
// have covered. It is the hash's part that names the pair.
std::uint64_t Index::CollectStep(std::uint64_t cursor, std::vector<Item*>* items) const {
  const std::size_t before = items->size();
  std::uint64_t pairs = 0;
  std::uint64_t pair = 0;
  for (Spin spin;; spin.Wait()) {
    items->resize(before);
    pairs = pair_count();
    pair = LineNumber(cursor << 1U, pairs) / 2;
    const auto header = [this, pair](std::size_t home) {
      return lines_->At(pair * 2 + home)->header.load(std::memory_order_acquire);
    };
    const std::array<std::uint64_t, 2> headers{header(0), header(1)};
    if (((headers[0] | headers[1]) & LineHeader::kWriter) != 0) continue;
    ForEachInPair(pair, [items](Item* item) { items->push_back(item); });
    FenceAfterMatch();
    if (header(0) == headers[0] && header(1) == headers[1] && pair_count() == pairs) break;
  }
  const unsigned width = static_cast<unsigned>(std::bit_width(pairs));
  const std::uint64_t half = std::uint64_t{1} << (width - 1);
  const bool is_split = pair >= half || pair + half < pairs;
  const unsigned bits = is_split ? width : width - 1;
  return Reverse(Reverse(cursor | (~std::uint64_t{0} << bits)) + 1);
}

void Index::Count(Local* local, std::int64_t change) {
  constexpr std::int64_t kMergeEntries = 64;
  local->entry_delta += change;
  if (local->entry_delta < kMergeEntries && local->entry_delta > -kMergeEntries) return;
  entry_count_.fetch_add(local->entry_delta, std::memory_order_relaxed);
  local->entry_delta = 0;
}

void Index::GiveLine(std::uint32_t line, Local* local) {
  if (local->line_count < Local::kLinesMax) {
    local->lines[local->line_count++] = line;
  } else {
    overflow_->Give(line);
  }
}

void Index::Refill(Local* local, std::size_t line_count) {
  if (local->line_count >= line_count) return;
  const std::size_t target = std::min(line_count + 4, Local::kLinesMax);
  while (local->line_count < target) {
    const std::uint32_t line = overflow_->Take();
    if (line == 0) return;
    local->lines[local->line_count++] = line;
  }
}

}  // namespace cache
