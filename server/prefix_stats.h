// PrefixStats: how often the keys of each prefix are read, stored and deleted (`stats detail`).
//
// A key's prefix is what stands before the delimiter; a key without one is not counted. Off, it
// costs a command one load. On, each worker counts in a table of its own, under a mutex that only
// `stats detail dump` and `stats reset` compete for.
//
// Owner: the worker. Threads: any; the table is guarded by its mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace server {

struct PrefixCounts {
  std::uint64_t gets = 0;
  std::uint64_t hits = 0;
  std::uint64_t sets = 0;
  std::uint64_t deletes = 0;
};
using PrefixTable = std::map<std::string, PrefixCounts, std::less<>>;

class PrefixStats {
 public:
  explicit PrefixStats(char delimiter) : delimiter_(delimiter) {}

  void CountGet(std::string_view key, bool is_hit);
  void CountSet(std::string_view key);
  void CountDelete(std::string_view key);

  void AddTo(PrefixTable* sum) const;
  void Clear();

 private:
  // Beyond so many prefixes new ones are not counted: clients choose them.
  static constexpr std::size_t kPrefixCountMax = 10'000;

  // Null: there is no prefix, or no room for it. With the mutex held.
  PrefixCounts* Find(std::string_view key);

  char delimiter_;
  mutable std::mutex mutex_;
  PrefixTable table_;  // Guarded by mutex_.
};

// A line a prefix, and END.
std::string WordPrefixes(const PrefixTable& table);

}  // namespace server
