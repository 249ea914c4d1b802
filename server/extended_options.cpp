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

struct Row {
  std::string_view name;
  Plan plan;
  bool takes_value;
};

constexpr std::array kRows = {
    Row{"maxconns_fast", Plan::kTakesEffect, false},
    Row{"no_maxconns_fast", Plan::kTakesEffect, false},
    Row{"idle_timeout", Plan::kTakesEffect, true},
    Row{"relaxed_privileges", Plan::kNothingToDo, false},
    Row{"no_drop_privileges", Plan::kNothingToDo, false},
    Row{"modern", Plan::kNothingToDo, false},
    Row{"no_modern", Plan::kNothingToDo, false},
    Row{"inline_ascii_resp", Plan::kNothingToDo, false},
    Row{"no_inline_ascii_resp", Plan::kNothingToDo, false},
    Row{"resp_obj_mem_limit", Plan::kNothingToDo, true},
    Row{"tail_repair_time", Plan::kNothingToDo, true},
    Row{"no_chunked_items", Plan::kNothingToDo, false},
    Row{"sock_cookie_id", Plan::kNothingToDo, true},
    Row{"hash_algorithm", Plan::kNothingToDo, true},
    Row{"hashpower", Plan::kNothingToDo, true},
    Row{"lru_maintainer", Plan::kNothingToDo, false},
    Row{"no_lru_maintainer", Plan::kNothingToDo, false},
    Row{"slab_reassign", Plan::kNothingToDo, false},
    Row{"no_slab_reassign", Plan::kNotYet, false},
    Row{"slab_automove", Plan::kNotYet, true},
    Row{"no_slab_automove", Plan::kNotYet, false},
    Row{"slab_automove_ratio", Plan::kNotYet, true},
    Row{"slab_automove_window", Plan::kNotYet, true},
    Row{"slab_automove_freeratio", Plan::kNotYet, true},
    Row{"no_hashexpand", Plan::kNotYet, false},
    Row{"lru_crawler", Plan::kNothingToDo, false},
    Row{"no_lru_crawler", Plan::kNotYet, false},
    Row{"lru_crawler_sleep", Plan::kNotYet, true},
    Row{"lru_crawler_tocrawl", Plan::kNotYet, true},
    Row{"hot_lru_pct", Plan::kNotYet, true},
    Row{"warm_lru_pct", Plan::kNotYet, true},
    Row{"hot_max_factor", Plan::kNotYet, true},
    Row{"warm_max_factor", Plan::kNotYet, true},
    Row{"temporary_ttl", Plan::kNotYet, true},
    Row{"watcher_logbuf_size", Plan::kNotYet, true},
    Row{"worker_logbuf_size", Plan::kNotYet, true},
    Row{"slab_sizes", Plan::kNotYet, true},
    Row{"slab_chunk_max", Plan::kNotYet, true},
    Row{"track_sizes", Plan::kNotYet, false},
    Row{"drop_privileges", Plan::kNotYet, false},
    Row{"read_buf_mem_limit", Plan::kNotYet, true},
    Row{"proxy_config", Plan::kNever, true},
    Row{"proxy_arg", Plan::kNever, true},
    Row{"proxy_uring", Plan::kNever, false},
    Row{"proxy_memprofile", Plan::kNever, true},
};

Outcome Bad(std::string text) { return std::unexpected(std::move(text)); }

Outcome Obey(std::string_view name, std::string_view value, Settings* settings) {
  if (name == "maxconns_fast" || name == "no_maxconns_fast") {
    settings->refuses_fast = name == "maxconns_fast";
    return {};
  }
  const auto seconds = protocol::ParseNumber<std::uint32_t>(value);
  if (!seconds) return Bad(fmt::format("-o idle_timeout={}: give a number of seconds", value));
  settings->idle_timeout_s = *seconds;
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
                        : fmt::format("-o {}: there is no such option; see --help", name));
  }
  if (row->takes_value && value.empty()) return Bad(fmt::format("-o {0}: give {0}=VALUE", name));
  if (!row->takes_value && has_value) return Bad(fmt::format("-o {}: takes no value", name));
  switch (row->plan) {
    case Plan::kTakesEffect:
      return Obey(name, value, settings);
    case Plan::kNothingToDo:
      settings->idle_options.emplace_back(name);
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
