#include "server/stats_answer.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>

#include "server/protocol/number.h"
#include "server/protocol/tokens.h"
#include "server/protocol/words.h"
#include "server/server.h"
#include "server/version.h"

namespace server {
namespace {

using protocol::Abbreviates;
namespace words = protocol::words;

void AddProcess(Worker& worker, StatLines* lines) {
  const cache::Now now = worker.cache().now();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  lines->Add("pid", getpid());
  lines->Add("uptime", Clock::UptimeSeconds(now));
  lines->Add("time", worker.server().clock().UnixSeconds(now));
  lines->Add("version", kVersion);
  lines->Add("libevent", "io_uring");
  lines->Add("pointer_size", sizeof(void*) * 8);
  lines->AddSeconds("rusage_user", usage.ru_utime);
  lines->AddSeconds("rusage_system", usage.ru_stime);
}

void AddConnections(const Settings& settings, const stats::Snapshot& sum, StatLines* lines) {
  lines->Add("max_connections", settings.connections_max);
  lines->Add("curr_connections", sum.curr_connections);
  lines->Add("total_connections", sum.total_connections);
  lines->Add("rejected_connections", sum.rejected_connections);
  lines->Add("connection_structures", sum.curr_connections);
  lines->AddZeros({"response_obj_oom", "response_obj_count"});
  lines->Add("response_obj_bytes", sum.parked_output_bytes);
  lines->AddZeros({"read_buf_count"});
  lines->Add("read_buf_bytes", sum.parked_input_bytes);
  lines->AddZeros({"read_buf_bytes_free"});
  lines->Add("read_buf_oom", sum.read_buf_oom);
  lines->AddZeros({"reserved_fds", "unexpected_napi_ids", "round_robin_fallback"});
}

void AddCommands(const stats::Snapshot& sum, StatLines* lines) {
  lines->Add("cmd_get", sum.get_hits + sum.get_misses);
  lines->Add("cmd_set", sum.cmd_set);
  lines->Add("cmd_flush", sum.cmd_flush);
  lines->Add("cmd_touch", sum.cmd_touch);
  lines->Add("cmd_meta", sum.cmd_meta);
  lines->Add("get_hits", sum.get_hits);
  lines->Add("get_misses", sum.get_misses);
  lines->Add("get_expired", sum.get_expired);
  lines->Add("get_flushed", sum.get_flushed);
  lines->Add("delete_misses", sum.delete_misses);
  lines->Add("delete_hits", sum.delete_hits);
  lines->Add("incr_misses", sum.incr_misses);
  lines->Add("incr_hits", sum.incr_hits);
  lines->Add("decr_misses", sum.decr_misses);
  lines->Add("decr_hits", sum.decr_hits);
  lines->Add("cas_misses", sum.cas_misses);
  lines->Add("cas_hits", sum.cas_hits);
  lines->Add("cas_badval", sum.cas_badval);
  lines->Add("touch_hits", sum.touch_hits);
  lines->Add("touch_misses", sum.touch_misses);
  lines->Add("store_too_large", sum.store_too_large);
  lines->Add("store_no_memory", sum.store_no_memory);
  lines->Add("auth_cmds", sum.auth_cmds);
  lines->Add("auth_errors", sum.auth_errors);
}

void AddServing(const Settings& settings, const cache::SharedCache& cache,
                const stats::Snapshot& sum, StatLines* lines) {
  lines->Add("idle_kicks", sum.idle_kicks);
  lines->Add("bytes_read", sum.bytes_read);
  lines->Add("bytes_written", sum.bytes_written);
  lines->Add("limit_maxbytes", cache.memory_limit_bytes());
  lines->Add("accepting_conns", 1);
  lines->Add("listen_disabled_num", sum.listen_disabled_num);
  lines->Add("time_in_listen_disabled_us", sum.time_in_listen_disabled_us);
  lines->Add("threads", settings.thread_count);
  lines->Add("conn_yields", sum.conn_yields);
}

void AddIndexAndMover(const cache::SharedCache& cache, const stats::Snapshot& sum,
                      StatLines* lines) {
  lines->Add("slab_reassign_rescues", sum.slab_reassign_rescues);
  lines->Add("slab_reassign_running", cache.is_moving() ? 1 : 0);
  lines->Add("slabs_moved", sum.slabs_moved);
  lines->AddZeros(
      {"hash_power_level", "hash_bytes", "hash_is_expanding", "slab_reassign_chunk_rescues",
       "slab_reassign_inline_reclaim", "slab_reassign_busy_items", "slab_reassign_busy_deletes",
       "slab_reassign_busy_nomem", "slab_reassign_last_busy_status", "lru_crawler_running",
       "lru_crawler_starts", "lru_maintainer_juggles", "malloc_fails", "log_worker_dropped",
       "log_worker_written", "log_watcher_skipped", "log_watcher_sent", "log_watchers"});
}

void AddItems(const stats::Snapshot& sum, StatLines* lines) {
  lines->Add("bytes", sum.bytes);
  lines->Add("curr_items", sum.curr_items);
  lines->Add("total_items", sum.total_items);
  lines->AddZeros({"slab_global_page_pool"});
  lines->Add("expired_unfetched", sum.expired_unfetched);
  lines->Add("evicted_unfetched", sum.evicted_unfetched);
  lines->Add("evicted_active", sum.evicted_active);
  lines->Add("evictions", sum.evictions);
  lines->Add("reclaimed", sum.reclaimed);
  lines->Add("crawler_reclaimed", sum.crawler_reclaimed);
  lines->Add("crawler_items_checked", sum.crawler_items_checked);
  lines->AddZeros({"lrutail_reflocked", "moves_to_cold", "moves_to_warm", "moves_within_lru",
                   "direct_reclaims", "lru_bumps_dropped"});
}

StatsAnswer General(Worker& worker, const stats::Snapshot& sum) {
  StatLines lines;
  AddProcess(worker, &lines);
  AddConnections(worker.settings(), sum, &lines);
  AddCommands(sum, &lines);
  AddServing(worker.settings(), worker.server().shared_cache(), sum, &lines);
  AddIndexAndMover(worker.server().shared_cache(), sum, &lines);
  AddItems(sum, &lines);
  return lines.Finish();
}

std::string Inter(const Settings& settings) {
  std::string text;
  for (const ListenAddress& listen : settings.listen) {
    text += text.empty() ? "" : ",";
    text += listen.host;
  }
  return text.empty() ? "NULL" : text;
}

std::string_view NameOf(Protocols protocols) {
  switch (protocols) {
    case Protocols::kText:
      return "ascii";
    case Protocols::kBinary:
      return "binary";
    case Protocols::kByFirstByte:
      break;
  }
  return "auto-negotiate";
}

StatsAnswer SettingsGroup(const Settings& settings, const cache::SharedCache& cache) {
  const LruSettings& lru = settings.lru;
  StatLines lines;
  lines.Add("maxbytes", cache.memory_limit_bytes());
  lines.Add("maxconns", settings.connections_max);
  lines.Add("tcpport", settings.tcp_port);
  lines.Add("udpport", 0);
  lines.Add("inter", Inter(settings));
  lines.Add("verbosity", settings.verbosity.load(std::memory_order_relaxed));
  lines.Add("oldest", 0);
  lines.Add("evictions", settings.evicts ? "on" : "off");
  lines.Add("domain_socket", settings.unix_path.empty() ? "NULL" : settings.unix_path.c_str());
  lines.Add("umask", fmt::format("{:o}", settings.unix_mask));
  lines.AddYesNo("shutdown_command", settings.allows_shutdown);
  lines.Add("growth_factor", fmt::format("{:.2f}", settings.class_factor));
  lines.Add("chunk_size", settings.slot_bytes_min);
  lines.Add("num_threads", settings.thread_count);
  lines.Add("num_threads_per_udp", settings.thread_count);
  lines.Add("stat_key_prefix", std::string_view(&settings.prefix_delimiter, 1));
  lines.AddYesNo("detail_enabled", settings.counts_prefixes.load());
  lines.Add("reqs_per_event", settings.requests_per_turn);
  lines.AddYesNo("cas_enabled", settings.has_cas);
  lines.Add("tcp_backlog", settings.backlog);
  lines.Add("binding_protocol", NameOf(settings.protocols));
  lines.AddYesNo("auth_enabled_sasl", false);
  lines.AddYesNo("auth_enabled_ascii", false);
  lines.Add("item_size_max", settings.item_bytes_max);
  lines.AddYesNo("maxconns_fast", settings.refuses_fast);
  lines.Add("hashpower_init", 0);
  lines.AddYesNo("slab_reassign", true);
  lines.Add("slab_automove", static_cast<int>(cache.automove()));
  lines.Add("slab_automove_ratio", fmt::format("{:.2f}", lru.automove_ratio.load()));
  lines.Add("slab_automove_window", lru.automove_window_s.load());
  lines.Add("slab_chunk_max", cache.SlotBytes(static_cast<std::uint8_t>(cache.class_count())));
  lines.AddYesNo("lru_crawler", lru.crawls.load());
  lines.Add("lru_crawler_sleep", lru.crawl_sleep_us.load());
  lines.Add("lru_crawler_tocrawl", lru.crawl_count.load());
  lines.AddZeros({"tail_repair_time"});
  lines.AddYesNo("flush_enabled", settings.allows_flush);
  lines.AddYesNo("dump_enabled", settings.allows_dump);
  lines.Add("hash_algorithm", "xxh3");
  lines.AddYesNo("lru_maintainer_thread", false);
  lines.AddYesNo("lru_segmented", lru.is_segmented.load());
  lines.Add("hot_lru_pct", lru.hot_percent.load());
  lines.Add("warm_lru_pct", lru.warm_percent.load());
  lines.Add("hot_max_factor", fmt::format("{:.2f}", lru.hot_factor.load()));
  lines.Add("warm_max_factor", fmt::format("{:.2f}", lru.warm_factor.load()));
  lines.AddYesNo("temp_lru", lru.temporary_ttl_s.load() >= 0);
  lines.Add("temporary_ttl", std::max(lru.temporary_ttl_s.load(), 0));
  lines.Add("idle_timeout", settings.idle_timeout_s);
  lines.AddZeros({"watcher_logbuf_size", "worker_logbuf_size", "read_buf_mem_limit"});
  lines.AddYesNo("track_sizes", settings.tracks_sizes);
  lines.AddYesNo("inline_ascii_response", false);
  lines.AddYesNo("drop_privileges", false);
  lines.AddZeros({"num_napi_ids"});
  lines.Add("memory_file", "(null)");
  lines.Add("client_flags_size", 4);
  lines.Add("ring_depth", settings.ring_depth);
  lines.Add("cq_depth", settings.cq_depth);
  return lines.Finish();
}

StatsAnswer Kind(StatsAnswer::Kind kind) {
  StatsAnswer answer;
  answer.kind = kind;
  return answer;
}

StatsAnswer Text(std::string_view text) {
  StatsAnswer answer = Kind(StatsAnswer::Kind::kText);
  answer.text = text;
  return answer;
}

StatsAnswer SizesGroup(const Settings& settings) {
  if (!settings.tracks_sizes) {
    StatLines lines;
    lines.Add("sizes_status", "disabled");
    return lines.Finish();
  }
  return Kind(StatsAnswer::Kind::kSizes);
}

// cachedump CLASS LIMIT
StatsAnswer CacheDump(const protocol::Tokens& tokens, const Settings& settings,
                      const cache::SharedCache& cache) {
  if (!settings.allows_dump) return Text("CLIENT_ERROR stats cachedump not allowed\r\n");
  if (tokens.count < 3) return Text("CLIENT_ERROR bad command line\r\n");
  const auto class_id = protocol::ParseNumber<std::uint32_t>(tokens[1]);
  const auto limit = protocol::ParseNumber<std::uint32_t>(tokens[2]);
  if (!class_id || !limit) return Text(words::kBadFormat);
  if (*class_id > cache.class_count()) return Text("CLIENT_ERROR Illegal slab id\r\n");
  StatsAnswer answer = Kind(StatsAnswer::Kind::kDump);
  answer.dump.kind = DumpRequest::Kind::kCache;
  answer.dump.classes.Add(static_cast<std::uint8_t>(*class_id));
  answer.dump.item_count_max = *limit;
  return answer;
}

// detail on|off|dump
StatsAnswer Detail(const protocol::Tokens& tokens, Server* server) {
  if (tokens.count == 2 && (tokens[1] == "on" || tokens[1] == "off")) {
    server->settings().counts_prefixes.store(tokens[1] == "on", std::memory_order_relaxed);
    StatsAnswer answer = Text(words::kOk);
    answer.kind = StatsAnswer::Kind::kDone;
    return answer;
  }
  if (tokens.count != 2 || tokens[1] != "dump") {
    return Text("CLIENT_ERROR usage: stats detail on|off|dump\r\n");
  }
  PrefixTable sum;
  server->ForEachWorker([&sum](Worker* each) { each->prefixes().AddTo(&sum); });
  StatsAnswer answer = Text(WordPrefixes(sum));
  answer.kind = StatsAnswer::Kind::kDone;
  answer.name = "detailed";
  return answer;
}

}  // namespace

StatsAnswer SizeLines(const Dump::SizeCounts& counts) {
  StatLines lines;
  for (const auto& [bytes, count] : counts) lines.Add(fmt::to_string(bytes), count);
  return lines.Finish();
}

bool AsksReset(std::string_view group) {
  const protocol::Tokens tokens = protocol::Split(group);
  return tokens.count > 0 && Abbreviates(tokens[0], "reset");
}

StatsAnswer AnswerStats(std::string_view group, Worker& worker, const FoldTicket& ticket) {
  const protocol::Tokens tokens = protocol::Split(group);
  if (tokens.count == 0) return General(worker, *ticket.snapshot);
  if (AsksReset(group)) {
    worker.server().ForEachWorker([](Worker* each) { each->prefixes().Clear(); });
    return Kind(StatsAnswer::Kind::kReset);
  }
  const std::string_view name = tokens[0];
  cache::SharedCache& cache = worker.server().shared_cache();
  if (Abbreviates(name, "settings")) return SettingsGroup(worker.settings(), cache);
  if (Abbreviates(name, "items")) return ItemsGroup(cache, *ticket.snapshot);
  if (Abbreviates(name, "slabs")) return SlabsGroup(cache, *ticket.snapshot);
  if (Abbreviates(name, "sizes")) return SizesGroup(worker.settings());
  if (Abbreviates(name, "cachedump")) return CacheDump(tokens, worker.settings(), cache);
  if (Abbreviates(name, "detail")) return Detail(tokens, &worker.server());
  if (name == "extstore") return StatLines().Finish();
  return {};
}

}  // namespace server
