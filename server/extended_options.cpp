#include "server/extended_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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

enum class Value : std::uint8_t { kNone, kNumber, kHashName, kAny };

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
    Row{"slab_automove", Plan::kNotYet, Value::kAny},
    Row{"no_slab_automove", Plan::kNotYet, Value::kNone},
    Row{"slab_automove_ratio", Plan::kNotYet, Value::kAny},
    Row{"slab_automove_window", Plan::kNotYet, Value::kAny},
    Row{"slab_automove_freeratio", Plan::kNotYet, Value::kAny},
    Row{"no_hashexpand", Plan::kNotYet, Value::kNone},
    Row{"lru_crawler", Plan::kNothingToDo, Value::kNone},
    Row{"no_lru_crawler", Plan::kNotYet, Value::kNone},
    Row{"lru_crawler_sleep", Plan::kNotYet, Value::kAny},
    Row{"lru_crawler_tocrawl", Plan::kNotYet, Value::kAny},
    Row{"hot_lru_pct", Plan::kNotYet, Value::kAny},
    Row{"warm_lru_pct", Plan::kNotYet, Value::kAny},
    Row{"hot_max_factor", Plan::kNotYet, Value::kAny},
    Row{"warm_max_factor", Plan::kNotYet, Value::kAny},
    Row{"temporary_ttl", Plan::kNotYet, Value::kAny},
    Row{"watcher_logbuf_size", Plan::kNotYet, Value::kAny},
    Row{"worker_logbuf_size", Plan::kNotYet, Value::kAny},
    Row{"slab_sizes", Plan::kNotYet, Value::kAny},
    Row{"slab_chunk_max", Plan::kNotYet, Value::kAny},
    Row{"track_sizes", Plan::kTakesEffect, Value::kNone},
    Row{"drop_privileges", Plan::kNotYet, Value::kNone},
    Row{"read_buf_mem_limit", Plan::kNotYet, Value::kAny},
    Row{"proxy_config", Plan::kNever, Value::kAny},
    Row{"proxy_arg", Plan::kNever, Value::kAny},
    Row{"proxy_uring", Plan::kNever, Value::kNone},
    Row{"proxy_memprofile", Plan::kNever, Value::kAny},
};

Outcome Bad(std::string text) { return std::unexpected(std::move(text)); }

Outcome Obey(std::string_view name, std::string_view value, Settings* settings) {
  if (name == "maxconns_fast" || name == "no_maxconns_fast") {
    settings->refuses_fast = name == "maxconns_fast";
    return {};
  }
  if (name == "track_sizes") {
    settings->tracks_sizes = true;
    return {};
  }
  settings->idle_timeout_s = *protocol::ParseNumber<std::uint32_t>(value);  // Judged by now.
  return {};
}

Outcome JudgeValue(const Row& row, std::string_view value, bool has_value) {
  if (row.value == Value::kNone) {
    return has_value ? Bad(fmt::format("-o {}: takes no value", row.name)) : Outcome();
  }
  if (value.empty()) return Bad(fmt::format("-o {0}: give {0}=VALUE", row.name));
  if (row.value == Value::kNumber && !protocol::ParseNumber<std::uint32_t>(value)) {
    return Bad(fmt::format("-o {}={}: give a number", row.name, value));
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
      return Obey(name, value, settings);
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
