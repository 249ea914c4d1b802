// Dump: a walk over all items that is written out as it goes: the keys for lru_crawler metadump and
// mgdump and for `stats cachedump`; or that counts, for `stats sizes`, and writes nothing.
//
//   Dump dump(what, &cache, &clock);
//   while (!dump.is_done()) { dump.Step(); send dump.text() and clear it; let others run; }
//
// It stops nobody. Items that are there all the time are met, those that come or go may be.
//
// Owner: the coroutine that writes it. Threads: its worker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "server/cache/cache.h"
#include "server/class_list.h"
#include "server/clock.h"

namespace server {

struct DumpRequest {
  enum class Kind : std::uint8_t {
    kNone,
    kMeta,   // metadump: a line of figures an item
    kMg,     // mgdump: the commands that would read them
    kCache,  // cachedump: key, size and expiry
    kSizes,  // no text: see size_counts()
  };
  Kind kind = Kind::kNone;
  ClassList classes;
  std::uint64_t item_count_max = 0;  // kCache; 0: no limit.
};

class Dump {
 public:
  Dump(const DumpRequest& request, cache::Cache* cache, const Clock* clock);

  [[nodiscard]] bool is_done() const { return is_done_; }
  // Some hundred items more, and the end behind the last.
  void Step();
  [[nodiscard]] std::string& text() { return text_; }
  // How many items there are by size, in steps of 32 bytes.
  using SizeCounts = std::map<std::size_t, std::uint64_t>;
  [[nodiscard]] const SizeCounts& size_counts() const { return size_counts_; }

 private:
  void Visit(const cache::Item* item);
  void AddMeta(const cache::Item* item);
  void AddMg(const cache::Item* item);
  void AddCache(const cache::Item* item);
  [[nodiscard]] std::int64_t UnixExpiry(const cache::Item* item) const;
  [[nodiscard]] bool HasLimit() const { return request_.kind == DumpRequest::Kind::kCache; }

  DumpRequest request_;
  cache::Cache* cache_;
  const Clock* clock_;
  std::uint64_t cursor_ = 0;
  std::uint64_t item_count_ = 0;
  std::size_t bytes_ = 0;
  bool is_done_ = false;
  std::string text_;
  SizeCounts size_counts_;
};

}  // namespace server
