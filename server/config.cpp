#include "server/config.h"

#include <fmt/format.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "server/extended_options.h"
#include "server/limits.h"
#include "server/listen_address.h"
#include "server/protocol/number.h"
#include "server/version.h"

namespace server {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

// What is read as text first and judged afterwards.
struct Raw {
  std::vector<std::string> listen;
  std::vector<std::string> extended;
  std::string item_bytes_max = "1m";
  std::string unix_mask = "700";
  std::string protocol = "auto";
  std::size_t memory_megabytes = 64;
  std::int32_t verbosity = 0;
  std::int32_t udp_port = 0;
  bool disables_evictions = false;
  bool disables_cas = false;
  bool disables_flush = false;
  bool shows_version = false;
  bool shows_license = false;
};

std::string EnvironmentName(const std::string& long_name) {
  std::string name = "RINGCACHED_";
  for (const char letter : long_name) {
    name +=
        letter == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return name;
}

void AddNetwork(CLI::App* app, Settings* settings, Raw* raw) {
  const char* group = "Network";
  app->add_option("-p,--port", settings->tcp_port, "TCP port; 0: none, -1: any free one")
      ->check(CLI::Range(-1, 65535))
      ->group(group);
  app->add_option("-l,--listen", raw->listen,
                  "addresses to listen on, ADDRESS[:PORT],... (default: all)")
      ->group(group);
  app->add_option("-s,--unix-socket", settings->unix_path,
                  "Unix socket to listen on; no TCP then, unless -p or -l is given too")
      ->group(group);
  app->add_option("-a,--unix-mask", raw->unix_mask, "access of the Unix socket, octal")
      ->group(group);
  app->add_option("-U,--udp-port", raw->udp_port, "UDP port; only 0, none, is supported yet")
      ->check(CLI::Range(0, 65535))
      ->group(group);
  app->add_option("-c,--conn-limit", settings->connections_max, "connections at once")
      ->check(CLI::Range(1U, 10'000'000U))
      ->group(group);
  app->add_option("-b,--listen-backlog", settings->backlog, "connections waiting to be accepted")
      ->check(CLI::Range(1U, 1'000'000U))
      ->group(group);
  app->add_option("-R,--max-reqs-per-event", settings->requests_per_turn,
                  "commands of one connection before the others get their turn")
      ->check(CLI::Range(1U, 1'000'000U))
      ->group(group);
  app->add_option("-B,--protocol", raw->protocol, "auto or ascii; both mean ascii yet")
      ->group(group);
}

void AddMemory(CLI::App* app, Settings* settings, Raw* raw) {
  const char* group = "Memory";
  app->add_option("-m,--memory-limit", raw->memory_megabytes, "item memory in megabytes")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 24))
      ->group(group);
  app->add_option("-I,--max-item-size", raw->item_bytes_max, "largest item; k and m may follow")
      ->group(group);
  app->add_flag("-M,--disable-evictions", raw->disables_evictions,
                "answer with an error instead of evicting")
      ->group(group);
  app->add_option("-f,--slab-growth-factor", settings->class_factor,
                  "step from one item size class to the next")
      ->check(CLI::Range(1.01, 100.0))
      ->group(group);
  app->add_option("-n,--slab-min-size", settings->slot_bytes_min,
                  "smallest room for key, value and flags")
      ->check(CLI::Range(std::size_t{8}, std::size_t{1} << 19))
      ->group(group);
  app->add_flag("-C,--disable-cas", raw->disables_cas, "no CAS")->group(group);
  app->add_flag("-L,--enable-largepages", settings->uses_large_pages,
                "all memory at once, in large pages")
      ->group(group);
  app->add_flag("-k,--lock-memory", settings->locks_memory, "lock all memory")->group(group);
}

void AddThreads(CLI::App* app, Settings* settings) {
  const char* group = "Threads and rings";
  app->add_option("-t,--threads", settings->thread_count,
                  "worker threads (default: the CPUs that this process may use)")
      ->check(CLI::Range(1U, kThreadCountMax))
      ->group(group);
  app->add_option("--ring-depth", settings->ring_depth, "submission entries of a worker's ring")
      ->check(CLI::Range(kRingDepthMin, kRingDepthMax))
      ->group(group);
  app->add_option("--cq-depth", settings->cq_depth, "completion entries of a worker's ring")
      ->check(CLI::Range(2 * kRingDepthMin, 2 * kRingDepthMax))
      ->group(group);
}

void AddCommands(CLI::App* app, Settings* settings, Raw* raw) {
  const char* group = "What clients may do";
  app->add_flag("-A,--enable-shutdown", settings->allows_shutdown, "allow the shutdown command")
      ->group(group);
  app->add_flag("-F,--disable-flush-all", raw->disables_flush, "refuse flush_all")->group(group);
}

void AddProcess(CLI::App* app, Settings* settings, Raw* raw) {
  const char* group = "Process";
  app->add_flag("-d,--daemon", settings->becomes_daemon, "run in the background")->group(group);
  app->add_option("-P,--pidfile", settings->pid_file, "write the process id here")->group(group);
  app->add_option("-u,--user", settings->user, "user to become when started by root")->group(group);
  app->add_flag("-r,--enable-coredumps", settings->raises_core_limit, "raise the core file limit")
      ->group(group);
  app->add_flag("-v,--verbose", raw->verbosity, "say more; -vv and -vvv still more")->group(group);
  app->add_flag("--healthcheck", settings->checks_health,
                "ask the server at these addresses whether it serves, and exit")
      ->group(group);
  app->add_flag("-V,--version", raw->shows_version, "print the version and exit")->group(group);
  app->add_flag("-i,--license", raw->shows_license, "print the license and exit")->group(group);
  app->add_option("-o,--extended", raw->extended, "memcached's extended options, NAME[=VALUE],...")
      ->group(group);
}

// memcached's flags that have no effect here yet: known, so that they can be refused in words.
void AddRefused(CLI::App* app, std::vector<std::string>* refused) {
  const auto refuse = [app, refused](const char* names, const char* name, bool takes_value) {
    const auto note = [refused, name](const CLI::results_t&) {
      refused->emplace_back(name);
      return true;
    };
    CLI::Option* option = app->add_option(names, note, "");
    option->expected(takes_value ? 1 : 0)->group("");
  };
  refuse("-D", "-D", true);
  refuse("-X,--disable-dumping", "-X", false);
  refuse("-W,--disable-watch", "-W", false);
  refuse("-Y,--auth-file", "-Y", true);
  refuse("-S,--enable-sasl", "-S", false);
  refuse("-Z,--enable-ssl", "-Z", false);
  refuse("-e,--memory-file", "-e", true);
  refuse("-N,--napi-ids", "-N", true);
}

void NameEnvironment(CLI::App* app) {
  for (CLI::Option* option : app->get_options()) {
    if (option->get_lnames().empty() || option->get_lnames().front() == "help") continue;
    option->envname(EnvironmentName(option->get_lnames().front()));
  }
}

// "1m", "512k", "1g", or bytes.
std::optional<std::size_t> ReadBytes(std::string_view text) {
  std::size_t unit = 1;
  if (!text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K':
        unit = std::size_t{1} << 10;
        break;
      case 'm':
      case 'M':
        unit = kMegabyte;
        break;
      case 'g':
      case 'G':
        unit = std::size_t{1} << 30;
        break;
      default:
        break;
    }
  }
  if (unit != 1) text.remove_suffix(1);
  const auto number = protocol::ParseNumber<std::uint32_t>(text);
  if (!number) return std::nullopt;
  return *number * unit;
}

std::optional<std::string> JudgeMemory(const Raw& raw, Settings* settings) {
  settings->memory_bytes = raw.memory_megabytes * kMegabyte;
  const auto item_bytes_max = ReadBytes(raw.item_bytes_max);
  if (!item_bytes_max) {
    return fmt::format("-I {}: give bytes, or a number with k or m behind it", raw.item_bytes_max);
  }
  if (*item_bytes_max < 1024 || *item_bytes_max > (std::size_t{1} << 30)) {
    return fmt::format("-I {}: must be from 1k to 1024m", raw.item_bytes_max);
  }
  if (*item_bytes_max > settings->memory_bytes / 2) {
    return fmt::format("-I {}: must not be above half of the memory limit; raise -m or lower -I",
                       raw.item_bytes_max);
  }
  settings->item_bytes_max = *item_bytes_max;
  settings->evicts = !raw.disables_evictions;
  settings->has_cas = !raw.disables_cas;
  settings->allows_flush = !raw.disables_flush;
  return std::nullopt;
}

std::optional<std::string> JudgeNetwork(const Raw& raw, Settings* settings) {
  if (raw.udp_port != 0) return "-U: UDP is not supported yet; leave it at 0";
  if (raw.protocol != "auto" && raw.protocol != "ascii") {
    return fmt::format("-B {}: only auto and ascii are supported yet", raw.protocol);
  }
  char* end = nullptr;
  const auto mask = std::strtoul(raw.unix_mask.c_str(), &end, 8);
  if (*end != '\0' || raw.unix_mask.empty() || mask > 0777) {
    return fmt::format("-a {}: give an octal number from 0 to 777", raw.unix_mask);
  }
  settings->unix_mask = static_cast<mode_t>(mask);
  for (const std::string& list : raw.listen) {
    auto addresses = ReadListenAddresses(list);
    if (!addresses) return addresses.error();
    settings->listen.insert(settings->listen.end(), addresses->begin(), addresses->end());
  }
  if (settings->tcp_port == 0 && settings->unix_path.empty()) {
    return "nothing to listen on: -p 0 needs a Unix socket, give -s PATH";
  }
  return std::nullopt;
}

std::optional<std::string> JudgeRest(const Raw& raw, Settings* settings) {
  for (const std::string& list : raw.extended) {
    if (auto read = ReadExtendedOptions(list, settings); !read) return read.error();
  }
  settings->verbosity = std::min(raw.verbosity, 3);
  const char* debug_commands = std::getenv("RINGCACHED_DEBUG_COMMANDS");
  settings->has_debug_commands =
      debug_commands != nullptr && std::string_view(debug_commands) == "1";
  if (settings->cq_depth < settings->ring_depth) {
    return "--cq-depth must not be below --ring-depth";
  }
  if (settings->thread_count == 0) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    const bool is_known = sched_getaffinity(0, sizeof cpus, &cpus) == 0;
    settings->thread_count =
        is_known ? static_cast<std::uint32_t>(std::max(CPU_COUNT(&cpus), 1)) : 4;
  }
  return std::nullopt;
}

Farewell Mistake(const std::string& line) {
  return {.text = fmt::format("ringcached: {}\n", line), .exit_code = kExitUsage};
}

std::string LicenseText() {
  return "ringcached is licensed under the Apache License, Version 2.0: see the file LICENSE, or "
         "https://www.apache.org/licenses/LICENSE-2.0\n";
}

}  // namespace

std::optional<Farewell> ReadConfig(int argc, const char* const* argv, Settings* settings) {
  CLI::App app("ringcached: a memcached-compatible cache server on io_uring", "ringcached");
  app.set_help_flag("-h,--help", "print this help and exit")->group("Process");
  app.get_formatter()->column_width(34);
  app.footer(
      "Every long flag --some-name may also be given in the environment as RINGCACHED_SOME_NAME.");
  app.option_defaults()->always_capture_default();
  Raw raw;
  std::vector<std::string> refused;
  AddNetwork(&app, settings, &raw);
  AddMemory(&app, settings, &raw);
  AddThreads(&app, settings);
  AddCommands(&app, settings, &raw);
  AddProcess(&app, settings, &raw);
  AddRefused(&app, &refused);
  NameEnvironment(&app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return Farewell{.text = app.help()};
  } catch (const CLI::ParseError& error) {
    return Mistake(fmt::format("{}; see --help", error.what()));
  }
  if (raw.shows_version) return Farewell{.text = fmt::format("ringcached {}\n", kVersion)};
  if (raw.shows_license) return Farewell{.text = LicenseText()};
  if (!refused.empty()) return Mistake(refused.front() + " is not supported yet; leave it out");
  settings->tcp_port_is_given = app.count("--port") != 0;
  for (const auto judge : {&JudgeMemory, &JudgeNetwork, &JudgeRest}) {
    if (const auto mistake = judge(raw, settings)) return Mistake(*mistake);
  }
  return std::nullopt;
}

}  // namespace server
