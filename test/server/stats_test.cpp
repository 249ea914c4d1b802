// What `stats` tells, beyond the counters that the transcripts check.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <regex>
#include <sstream>
#include <string>

#include "test/support/client.h"
#include "test/support/server_process.h"
#include "test/support/stats_reader.h"

namespace {

using support::Client;
using support::Number;
using support::ReadStats;
using support::ServerProcess;
using support::Stats;

// Exporters break when one is missing.
constexpr const char* kGeneralNames =
    "pid uptime time version libevent pointer_size rusage_user rusage_system max_connections "
    "curr_connections total_connections rejected_connections connection_structures "
    "response_obj_oom response_obj_count response_obj_bytes read_buf_count read_buf_bytes "
    "read_buf_bytes_free read_buf_oom reserved_fds cmd_get cmd_set cmd_flush cmd_touch cmd_meta "
    "get_hits get_misses get_expired get_flushed delete_misses delete_hits incr_misses incr_hits "
    "decr_misses decr_hits cas_misses cas_hits cas_badval touch_hits touch_misses store_too_large "
    "store_no_memory auth_cmds auth_errors bytes_read bytes_written limit_maxbytes "
    "accepting_conns listen_disabled_num time_in_listen_disabled_us threads conn_yields "
    "hash_power_level hash_bytes hash_is_expanding slab_reassign_rescues "
    "slab_reassign_chunk_rescues slab_reassign_inline_reclaim slab_reassign_busy_items "
    "slab_reassign_busy_deletes slab_reassign_busy_nomem slab_reassign_last_busy_status "
    "slab_reassign_running slabs_moved lru_crawler_running lru_crawler_starts "
    "lru_maintainer_juggles malloc_fails log_worker_dropped log_worker_written "
    "log_watcher_skipped log_watcher_sent log_watchers unexpected_napi_ids round_robin_fallback "
    "bytes curr_items total_items slab_global_page_pool expired_unfetched evicted_unfetched "
    "evicted_active evictions reclaimed crawler_reclaimed crawler_items_checked "
    "lrutail_reflocked moves_to_cold moves_to_warm moves_within_lru direct_reclaims "
    "lru_bumps_dropped";

constexpr const char* kSettingsNames =
    "maxbytes maxconns tcpport udpport inter verbosity oldest evictions domain_socket umask "
    "shutdown_command growth_factor chunk_size num_threads num_threads_per_udp stat_key_prefix "
    "detail_enabled reqs_per_event cas_enabled tcp_backlog binding_protocol auth_enabled_sasl "
    "auth_enabled_ascii item_size_max maxconns_fast hashpower_init slab_reassign slab_automove "
    "slab_automove_ratio slab_automove_window slab_chunk_max lru_crawler lru_crawler_sleep "
    "lru_crawler_tocrawl tail_repair_time flush_enabled dump_enabled hash_algorithm "
    "lru_maintainer_thread lru_segmented hot_lru_pct warm_lru_pct hot_max_factor warm_max_factor "
    "temp_lru temporary_ttl idle_timeout watcher_logbuf_size worker_logbuf_size "
    "read_buf_mem_limit track_sizes inline_ascii_response num_napi_ids memory_file "
    "client_flags_size";

void CheckNames(const Stats& stats, const char* names) {
  std::istringstream stream(names);
  for (std::string name; stream >> name;) CHECK_MESSAGE(stats.contains(name), "missing: ", name);
}

TEST_CASE("stats has every name that memcached has, and numbers where it has numbers") {
  ServerProcess server;
  Client client(server.endpoint());
  const Stats stats = ReadStats(&client);
  CheckNames(stats, kGeneralNames);
  for (const auto& [name, value] : stats) {
    if (name == "version" || name == "libevent" || name.starts_with("rusage_")) continue;
    if (name == "slab_reassign_last_busy_status") continue;  // Words in memcached too.
    CHECK_MESSAGE(std::regex_match(value, std::regex("[0-9]+")), name, " is ", value);
  }
  for (const char* name : {"rusage_user", "rusage_system"}) {
    CHECK(std::regex_match(stats.at(name), std::regex("[0-9]+\\.[0-9]{6}")));
  }
  CHECK(Number(stats, "pid") == server.pid());
  CHECK(Number(stats, "pointer_size") == 64);
  CHECK(Number(stats, "limit_maxbytes") == std::int64_t{64} << 20);
}

TEST_CASE("stats settings has every name that memcached has") {
  ServerProcess server;
  Client client(server.endpoint());
  const Stats settings = ReadStats(&client, "settings");
  CheckNames(settings, kSettingsNames);
  CHECK(settings.at("maxbytes") == "67108864");
  CHECK(settings.at("item_size_max") == "1048576");
  CHECK(settings.at("tcpport") == std::to_string(server.endpoint().port));
  CHECK(settings.at("num_threads") == ReadStats(&client).at("threads"));
}

TEST_CASE("time is the wall clock's, and uptime goes with it") {
  ServerProcess server;
  Client client(server.endpoint());
  const std::int64_t before = std::time(nullptr);
  const Stats stats = ReadStats(&client);
  const std::int64_t after = std::time(nullptr);
  CHECK(Number(stats, "time") >= before - 2);  // Clocks that tick once a second lag.
  CHECK(Number(stats, "time") <= after + 1);
  CHECK(Number(stats, "uptime") >= 0);
  CHECK(Number(stats, "uptime") < 120);
}

TEST_CASE("items and bytes return to where they were after overwrites and deletes") {
  ServerProcess server;
  Client client(server.endpoint());
  const Stats before = ReadStats(&client);
  for (const std::size_t value_bytes : {10UZ, 3'000UZ, 100UZ}) {
    std::string requests;
    for (int i = 0; i < 500; ++i) {
      requests +=
          fmt::format("set key{} 0 0 {}\r\n{}\r\n", i, value_bytes, std::string(value_bytes, 'v'));
    }
    REQUIRE(client.SendWhileReceiving(requests));
    for (int i = 0; i < 500; ++i) REQUIRE(client.ReceiveLine() == "STORED\r\n");
  }
  const Stats full = ReadStats(&client);
  CHECK(Number(full, "curr_items") == Number(before, "curr_items") + 500);
  CHECK(Number(full, "bytes") >= Number(before, "bytes") + 500 * 100);
  for (int i = 0; i < 500; ++i) client.Send(fmt::format("delete key{}\r\n", i));
  for (int i = 0; i < 500; ++i) REQUIRE(client.ReceiveLine() == "DELETED\r\n");
  const Stats after = ReadStats(&client);
  CHECK(Number(after, "curr_items") == Number(before, "curr_items"));
  CHECK(Number(after, "bytes") == Number(before, "bytes"));
}

TEST_CASE("no counter goes below zero") {
  ServerProcess server;
  Client client(server.endpoint());
  for (int i = 0; i < 30; ++i) {
    client.Send(
        fmt::format("set k 0 0 500\r\n{}\r\nset k 0 0 1\r\ny\r\nappend k 0 0 1\r\nz\r\n"
                    "delete k\r\ndelete k\r\nset k 0 -1 1\r\nq\r\nget k\r\nflush_all\r\n"
                    "set k 0 0 1\r\ny\r\nflush_all\r\nget k\r\n",
                    std::string(500, 'x')));
    const std::string answers =
        "STORED\r\nSTORED\r\nSTORED\r\nDELETED\r\nNOT_FOUND\r\nSTORED\r\nEND\r\nOK\r\nSTORED\r\n"
        "OK\r\nEND\r\n";
    REQUIRE(client.Receive(answers.size()) == answers);
  }
  for (const auto& [name, value] : ReadStats(&client)) {
    if (!std::regex_match(value, std::regex("-?[0-9]+"))) continue;
    CHECK_MESSAGE(value[0] != '-', name, " is ", value);
    CHECK_MESSAGE(std::stoull(value) < (std::uint64_t{1} << 62), name, " is ", value);
  }
}

TEST_CASE("bytes read and written are counted exactly") {
  ServerProcess server;
  Client client(server.endpoint());
  Client observer(server.endpoint());
  const Stats first = ReadStats(&observer);
  const Stats second = ReadStats(&observer);
  client.Send("get a\r\n");
  CHECK(client.Receive(5) == "END\r\n");
  const Stats third = ReadStats(&observer);
  // One "stats" more in between each time.
  CHECK(Number(second, "bytes_read") - Number(first, "bytes_read") == 7);
  CHECK(Number(third, "bytes_read") - Number(second, "bytes_read") == 7 + 7);
}

}  // namespace
