// ChainPiece: one slot of a value that is longer than the largest slot.
//
// Head slot:  | header 24 | client flags | key | to the next multiple of 8 | first piece 8 |
// Piece slot: | next 8 | head 8 | bytes 4 | - 1 | state 1 | - 2 | value bytes ... |
//
// The state byte lies where an item has its own, so that a walk over a page's slots can tell what
// each one is. The head pointer lets the walk find the item that a piece belongs to.
//
// Owner: the item. Threads: as the item; immutable once the item is published, but for the state.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/cache/item.h"
#include "server/cache/slot_link.h"

namespace cache {

struct ChainPiece {
  ChainPiece* next = nullptr;
  Item* head = nullptr;
  std::uint32_t bytes = 0;  // Filled so far; all of them once the item is published.
  std::uint8_t unused = 0;
  std::atomic<std::uint8_t> state{0};
  std::uint16_t also_unused = 0;

  [[nodiscard]] char* data() { return reinterpret_cast<char*>(this + 1); }
  [[nodiscard]] std::string_view value() const {
    return {reinterpret_cast<const char*>(this + 1), bytes};
  }
};
static_assert(sizeof(ChainPiece) == 24 && offsetof(ChainPiece, state) == 21);

// Bytes from the start of a chain's head to its pointer to the first piece.
inline std::size_t FirstPieceOffset(std::size_t flags_bytes, std::size_t key_bytes) {
  return (sizeof(Item) + flags_bytes + key_bytes + 7) / 8 * 8;
}

// The first piece of a chained item; null while none has been taken.
inline ChainPiece* FirstPiece(const Item* item) {
  const std::string_view key = item->key();
  const auto used = static_cast<std::size_t>(key.data() - reinterpret_cast<const char*>(item));
  const char* at =
      reinterpret_cast<const char*>(item) + FirstPieceOffset(used - sizeof(Item), key.size());
  return static_cast<ChainPiece*>(ReadLink(at));
}

}  // namespace cache
