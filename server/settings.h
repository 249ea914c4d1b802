// Settings: everything a user can choose, as read from flags and environment.
//
// Owner: main; read-only once the server runs, but for the fields marked atomic. Threads: any may
// read.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace server {

// One -l entry: an address and, if it was given with one, a port.
struct ListenAddress {
  std::string host;        // Empty: all interfaces.
  std::int32_t port = -1;  // -1: the one of -p.
};

// What administrators tune of memcached's LRU and crawler: kept and shown, with no other effect.
// Writers: main, the worker that carries out the command. Readers: any, relaxed.
struct LruSettings {
  std::atomic<bool> crawls{true};
  std::atomic<std::uint32_t> crawl_sleep_us{100};
  std::atomic<std::uint32_t> crawl_count{0};
  std::atomic<bool> is_segmented{true};
  std::atomic<std::uint32_t> hot_percent{20};
  std::atomic<std::uint32_t> warm_percent{40};
  std::atomic<double> hot_factor{0.2};
  std::atomic<double> warm_factor{2.0};
  std::atomic<std::int32_t> temporary_ttl_s{-1};  // Below 0: none.
  std::atomic<double> automove_ratio{0.8};
  std::atomic<double> automove_freeratio{0.01};
  std::atomic<std::uint32_t> automove_window_s{10};
};

// -B: which protocols a client may speak.
enum class Protocols : std::uint8_t { kByFirstByte, kText, kBinary };

struct Settings {
  // Network.
  std::int32_t tcp_port = 11211;  // -p; 0: none, -1: any free one
  bool tcp_port_is_given = false;
  std::vector<ListenAddress> listen;     // -l
  std::string unix_path;                 // -s
  mode_t unix_mask = 0700;               // -a
  std::uint32_t connections_max = 1024;  // -c
  std::uint32_t backlog = 1024;          // -b
  std::uint32_t idle_timeout_s = 0;      // -o idle_timeout
  bool refuses_fast = true;              // -o maxconns_fast

  // Memory.
  std::size_t memory_bytes = std::size_t{64} << 20;   // -m
  std::size_t item_bytes_max = std::size_t{1} << 20;  // -I
  bool evicts = true;                                 // -M
  bool has_cas = true;                                // -C
  bool locks_memory = false;                          // -k
  bool uses_large_pages = false;                      // -L
  double class_factor = 1.06;                         // -f
  std::size_t slot_bytes_min = 48;                    // -n
  std::size_t slot_bytes_max = 0;                     // -o slab_chunk_max; 0: our own choice

  // Threads and rings.
  std::uint32_t thread_count = 0;          // -t; 0 until the CPUs have been counted
  std::uint32_t requests_per_turn = 1024;  // -R
  std::uint32_t ring_depth = 1024;
  std::uint32_t cq_depth = 8192;

  // What clients may do.
  Protocols protocols = Protocols::kByFirstByte;  // -B
  bool allows_flush = true;                       // -F
  bool allows_shutdown = false;                   // -A
  bool allows_dump = true;                        // -X
  bool tracks_sizes = false;                      // -o track_sizes
  std::uint32_t automove = 1;                     // -o slab_automove
  char prefix_delimiter = ':';                    // -D

  // The process.
  bool becomes_daemon = false;     // -d
  std::string pid_file;            // -P
  std::string user;                // -u
  bool raises_core_limit = false;  // -r
  bool checks_health = false;      // --healthcheck
  std::vector<std::string> notes;  // What the user should know of his flags: said at start.

  // Writers: main at start, the worker that carries out `verbosity`. Readers: any, relaxed.
  std::atomic<std::int32_t> verbosity{0};  // -v
  LruSettings lru;
  std::atomic<bool> counts_prefixes{false};  // -D, `stats detail`; as verbosity.
  // A test-only command, on when RINGCACHED_DEBUG_COMMANDS=1 is in the environment.
  bool has_debug_commands = false;
};

}  // namespace server
