#include "server/prefix_stats.h"

#include <fmt/format.h>

#include <iterator>

namespace server {

PrefixCounts* PrefixStats::Find(std::string_view key) {
  const std::size_t end = key.find(delimiter_);
  if (end == std::string_view::npos || end == 0) return nullptr;
  const std::string_view prefix = key.substr(0, end);
  const auto found = table_.find(prefix);
  if (found != table_.end()) return &found->second;
  if (table_.size() >= kPrefixCountMax) return nullptr;
  return &table_.try_emplace(std::string(prefix)).first->second;
}

void PrefixStats::CountGet(std::string_view key, bool is_hit) {
  const std::lock_guard lock(mutex_);
  PrefixCounts* counts = Find(key);
  if (counts == nullptr) return;
  ++counts->gets;
  if (is_hit) ++counts->hits;
}

void PrefixStats::CountSet(std::string_view key) {
  const std::lock_guard lock(mutex_);
  if (PrefixCounts* counts = Find(key)) ++counts->sets;
}

void PrefixStats::CountDelete(std::string_view key) {
  const std::lock_guard lock(mutex_);
  if (PrefixCounts* counts = Find(key)) ++counts->deletes;
}

void PrefixStats::AddTo(PrefixTable* sum) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [prefix, counts] : table_) {
    PrefixCounts& to = (*sum)[prefix];
    to.gets += counts.gets;
    to.hits += counts.hits;
    to.sets += counts.sets;
    to.deletes += counts.deletes;
  }
}

void PrefixStats::Clear() {
  const std::lock_guard lock(mutex_);
  table_.clear();
}

std::string WordPrefixes(const PrefixTable& table) {
  std::string text;
  for (const auto& [prefix, counts] : table) {
    fmt::format_to(std::back_inserter(text), "PREFIX {} get {} hit {} set {} del {}\r\n", prefix,
                   counts.gets, counts.hits, counts.sets, counts.deletes);
  }
  return text.append("END\r\n");
}

}  // namespace server
