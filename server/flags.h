// Flags: the command line and the environment, read as text.
//
// Here is what flags there are and how they are described; what their values mean together is
// judged in config.cpp. This is the only file that knows the option parser.
//
// Owner: ReadConfig. Threads: main.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/config.h"
#include "server/settings.h"

namespace server {

// What is read as text first and judged afterwards.
struct RawFlags {
  std::vector<std::string> listen;
  std::vector<std::string> extended;
  std::string item_bytes_max = "1m";
  bool item_bytes_max_is_given = false;
  std::string unix_mask = "700";
  std::string protocol = "auto";
  std::size_t memory_megabytes = 64;
  std::int32_t verbosity = 0;
  std::int32_t udp_port = 0;
  bool disables_evictions = false;
  bool disables_cas = false;
  std::string prefix_delimiter;
  bool disables_flush = false;
  bool disables_dump = false;
  bool shows_version = false;
  bool shows_license = false;
  std::vector<std::string> refused;  // memcached's flags that are given and not built yet.
};

// Fills *settings and *raw. A value means: print it and exit (a mistake, or the help).
std::optional<Farewell> ReadFlags(int argc, const char* const* argv, Settings* settings,
                                  RawFlags* raw);

// The Farewell of a mistake: one line, which says what to change.
Farewell Mistake(const std::string& line);

}  // namespace server
