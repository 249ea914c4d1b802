// Item: a stored value's memory, as everybody may read it.
//
// Bytes: | header 24 | client flags 4, only if not 0 | key | value |
//
//    0  expiry        4   Expiry bits, relaxed atomic (touch)
//    4  last access   4   seconds, relaxed atomic (reads, at most once a second)
//    8  cas           8   relaxed atomic (changed in place only when an item is marked stale)
//   16  value bytes   4
//   20  key bytes     1
//   21  state         1   bits below, relaxed atomic
//   22  access        1   frequency, newcomer bit, flush generation; relaxed atomic
//   23  pins          1   holds that outlive a turn, relaxed atomic
//
// An item is immutable once published, but for the fields called atomic. A value above the largest
// slot is a chain of slots: IsChained(). No link, no CRLF, no terminator.
//
// Owner: the slab page it lies in. A pointer got from Cache::Find stays good until the finding
// thread's next Cache::Quiesce, longer only while pinned. Threads: any may read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "server/cache/clock.h"

namespace cache {

class Item {
 public:
  // State bits.
  static constexpr std::uint8_t kHasFlags = 1;    // 4 bytes of client flags follow the header.
  static constexpr std::uint8_t kChained = 2;     // The value is a chain of slots.
  static constexpr std::uint8_t kKeyBinary = 4;   // The key came base64-coded: print it so.
  static constexpr std::uint8_t kFetched = 8;     // Has been read.
  static constexpr std::uint8_t kStale = 16;      // Marked stale by `md I` or an older `ms I`.
  static constexpr std::uint8_t kTokenSent = 32;  // Somebody has won the right to recache.
  static constexpr std::uint8_t kLinked = 64;     // In the index.

  [[nodiscard]] Expiry expiry() const {
    return Expiry::FromBits(expiry_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::uint32_t last_access_s() const {
    return last_access_s_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t cas() const { return cas_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t value_bytes() const { return value_bytes_; }
  [[nodiscard]] std::uint8_t state() const { return state_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool Has(std::uint8_t state_bit) const { return (state() & state_bit) != 0; }

  [[nodiscard]] std::uint32_t client_flags() const {
    std::uint32_t flags = 0;
    if (Has(kHasFlags)) std::memcpy(&flags, Body(), sizeof flags);
    return flags;
  }
  [[nodiscard]] std::string_view key() const { return {Body() + FlagsBytes(), key_bytes_}; }

  // The value of an item that is not chained.
  [[nodiscard]] std::string_view value() const {
    return {Body() + FlagsBytes() + key_bytes_, value_bytes_};
  }

 private:
  friend class ItemAccess;  // The cache's own door to the fields; see the engine's files.

  [[nodiscard]] const char* Body() const { return reinterpret_cast<const char*>(this + 1); }
  [[nodiscard]] std::size_t FlagsBytes() const { return Has(kHasFlags) ? 4 : 0; }

  std::atomic<std::uint32_t> expiry_;
  std::atomic<std::uint32_t> last_access_s_;
  std::atomic<std::uint64_t> cas_;
  std::uint32_t value_bytes_;
  std::uint8_t key_bytes_;
  std::atomic<std::uint8_t> state_;
  std::atomic<std::uint8_t> access_;
  std::atomic<std::uint8_t> pins_;
};
static_assert(sizeof(Item) == 24);

}  // namespace cache
