#include "server/extended_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "server/protocol/number.h"

namespace server {
namespace {

using Outcome = std::expected<void, std::string>;

// What becomes of a sub-option.
enum class Plan : std::uint8_t {
  kTakesEffect,
  kNothingToDo,  // What it asks for is so anyway, or its mechanism has no counterpart here.
  kNotYet,
  kNever,
};

enum class Value : std::uint8_t { kNone, kNumber, kReal, kHashName, kAny };

struct Row {
  std::string_view name;
  Plan plan;
  Value value;
};

constexpr std::array kRows = {
    Row{"maxconns_fast", Plan::kTakesEffect, Value::kNone},
    Row{"no_maxconns_fast", Plan::kTakesEffect, Value::kNone},
    Row{"idle_timeout", Plan::kTakesEffect, Value::kNumber},
    Row{"relaxed_privileges", Plan::kNothingToDo, Value::kNone},
    Row{"no_drop_privileges", Plan::kNothingToDo, Value::kNone},
    Row{"modern", Plan::kNothingToDo, Value::kNone},
    Row{"no_modern", Plan::kNothingToDo, Value::kNone},
    Row{"inline_ascii_resp", Plan::kNothingToDo, Value::kNone},
    Row{"no_inline_ascii_resp", Plan::kNothingToDo, Value::kNone},
    Row{"resp_obj_mem_limit", Plan::kNothingToDo, Value::kNumber},
    Row{"tail_repair_time", Plan::kNothingToDo, Value::kNumber},
    Row{"no_chunked_items", Plan::kNothingToDo, Value::kNone},
    Row{"sock_cookie_id", Plan::kNothingToDo, Value::kNumber},
    Row{"hash_algorithm", Plan::kNothingToDo, Value::kHashName},
    Row{"hashpower", Plan::kNothingToDo, Value::kNumber},
    Row{"lru_maintainer", Plan::kNothingToDo, Value::kNone},
    Row{"no_lru_maintainer", Plan::kNothingToDo, Value::kNone},
    Row{"slab_reassign", Plan::kNothingToDo, Value::kNone},
    Row{"no_slab_reassign", Plan::kNotYet, Value::kNone},
    Row{"slab_automove", Plan::kTakesEffect, Value::kNumber},
    Row{"no_slab_automove", Plan::kTakesEffect, Value::kNone},
    Row{"slab_automove_ratio", Plan::kTakesEffect, Value::kReal},
    Row{"slab_automove_window", Plan::kTakesEffect, Value::kNumber},
    Row{"slab_automove_freeratio", Plan::kTakesEffect, Value::kReal},
    Row{"no_hashexpand", Plan::kNotYet, Value::kNone},
    Row{"lru_crawler", Plan::kTakesEffect, Value::kNone},
    Row{"no_lru_crawler", Plan::kTakesEffect, Value::kNone},
    Row{"lru_crawler_sleep", Plan::kTakesEffect, Value::kNumber},
    Row{"lru_crawler_tocrawl", Plan::kTakesEffect, Value::kNumber},
    Row{"hot_lru_pct", Plan::kTakesEffect, Value::kNumber},
    Row{"warm_lru_pct", Plan::kTakesEffect, Value::kNumber},
    Row{"hot_max_factor", Plan::kTakesEffect, Value::kReal},
    Row{"warm_max_factor", Plan::kTakesEffect, Value::kReal},
    Row{"temporary_ttl", Plan::kTakesEffect, Value::kNumber},
    Row{"watcher_logbuf_size", Plan::kNotYet, Value::kAny},
    Row{"worker_logbuf_size", Plan::kNotYet, Value::kAny},
    Row{"slab_sizes", Plan::kNotYet, Value::kAny},
    Row{"slab_chunk_max", Plan::kTakesEffect, Value::kNumber},
    Row{"track_sizes", Plan::kTakesEffect, Value::kNone},
    Row{"drop_privileges", Plan::kNotYet, Value::kNone},
    Row{"read_buf_mem_limit", Plan::kNotYet, Value::kAny},
    Row{"proxy_config", Plan::kNever, Value::kAny},
    Row{"proxy_arg", Plan::kNever, Value::kAny},
    Row{"proxy_uring", Plan::kNever, Value::kNone},
    Row{"proxy_memprofile", Plan::kNever, Value::kAny},
};

Outcome Bad(std::string text) { return std::unexpected(std::move(text)); }

std::optional<double> ReadReal(std::string_view text) {
  const auto real = protocol::ParseReal(text);
  return real && *real >= 0 ? real : std::nullopt;
}

Outcome ObeyReal(std::string_view name, double value, LruSettings* lru) {
  if (name == "hot_max_factor") lru->hot_factor = value;
  if (name == "warm_max_factor") lru->warm_factor = value;
  if (name == "slab_automove_ratio") lru->automove_ratio = value;
  if (name == "slab_automove_freeratio") lru->automove_freeratio = value;
  return {};
}

Outcome ObeyNumber(std::string_view name, std::uint32_t value, Settings* settings) {
  constexpr std::uint32_t kAutomoveMax = 2;
  LruSettings& lru = settings->lru;
  if (name == "idle_timeout") settings->idle_timeout_s = value;
  if (name == "lru_crawler_sleep") lru.crawl_sleep_us = value;
  if (name == "lru_crawler_tocrawl") lru.crawl_count = value;
  if (name == "hot_lru_pct") lru.hot_percent = value;
  if (name == "warm_lru_pct") lru.warm_percent = value;
  if (name == "temporary_ttl") lru.temporary_ttl_s = static_cast<std::int32_t>(value);
  if (name == "slab_automove_window") lru.automove_window_s = value;
  if (name == "slab_chunk_max") settings->slot_bytes_max = std::size_t{value} << 10;
  if (name == "slab_automove") {
    if (value > kAutomoveMax) return Bad("-o slab_automove: give 0, 1 or 2");
    settings->automove = value;
  }
  return {};
}

Outcome ObeyWord(std::string_view name, Settings* settings) {
  if (name == "maxconns_fast") settings->refuses_fast = true;
  if (name == "no_maxconns_fast") settings->refuses_fast = false;
  if (name == "track_sizes") settings->tracks_sizes = true;
  if (name == "lru_crawler") settings->lru.crawls = true;
  if (name == "no_lru_crawler") settings->lru.crawls = false;
  if (name == "no_slab_automove") settings->automove = 0;
  return {};
}

// The value has been judged.
Outcome Obey(const Row& row, std::string_view value, Settings* settings) {
  if (row.value == Value::kNone) return ObeyWord(row.name, settings);
  if (row.value == Value::kReal) return ObeyReal(row.name, *ReadReal(value), &settings->lru);
  return ObeyNumber(row.name, *protocol::ParseNumber<std::uint32_t>(value), settings);
}

Outcome JudgeValue(const Row& row, std::string_view value, bool has_value) {
  if (row.value == Value::kNone) {
    return has_value ? Bad(fmt::format("-o {}: takes no value", row.name)) : Outcome();
  }
  if (value.empty()) return Bad(fmt::format("-o {0}: give {0}=VALUE", row.name));
  if (row.value == Value::kNumber && !protocol::ParseNumber<std::uint32_t>(value)) {
    return Bad(fmt::format("-o {}={}: give a number", row.name, value));
  }
  if (row.value == Value::kReal && !ReadReal(value)) {
    return Bad(fmt::format("-o {}={}: give a number, like 0.8", row.name, value));
  }
  const bool is_hash = value == "jenkins" || value == "murmur3" || value == "xxh3";
  if (row.value == Value::kHashName && !is_hash) {
    return Bad(fmt::format("-o {}={}: give jenkins, murmur3 or xxh3", row.name, value));
  }
  return {};
}

Outcome ReadOne(std::string_view option, Settings* settings) {
  const std::size_t equals = std::min(option.find('='), option.size());
  const std::string_view name = option.substr(0, equals);
  const bool has_value = equals != option.size();
  const std::string_view value = has_value ? option.substr(equals + 1) : std::string_view();
  const Row* row = std::ranges::find(kRows, name, &Row::name);
  if (row == kRows.end()) {
    const bool is_other = name.starts_with("ssl_") || name.starts_with("ext_");
    return Bad(is_other ? fmt::format("-o {}: not supported; leave it out", name)
                        : fmt::format("-o '{}': there is no such option; see --help", name));
  }
  if (auto judged = JudgeValue(*row, value, has_value); !judged) return judged;
  switch (row->plan) {
    case Plan::kTakesEffect:
      return Obey(*row, value, settings);
    case Plan::kNothingToDo:
      settings->notes.push_back(fmt::format("-o {} is accepted and changes nothing here", name));
      return {};
    case Plan::kNotYet:
      return Bad(fmt::format("-o {}: not supported yet; leave it out", name));
    case Plan::kNever:
      return Bad(fmt::format("-o {}: ringcached is no proxy; leave it out", name));
  }
  return {};
}

}  // namespace

Outcome ReadExtendedOptions(std::string_view list, Settings* settings) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (auto read = ReadOne(list.substr(0, comma), settings); !read) return read;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return {};
}

}  // namespace server
