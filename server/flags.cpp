#include "server/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "server/limits.h"

namespace server {
namespace {

constexpr std::string_view kEnvironmentPrefix = "RINGCACHED_";

std::string EnvironmentName(std::string_view long_name) {
  std::string name(kEnvironmentPrefix);
  for (const char letter : long_name) {
    name +=
        letter == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return name;
}

// A number in these bounds; else a line that says which.
template <typename Number>
CLI::Validator Between(Number min, Number max) {
  const auto check = [min, max](const std::string& text) -> std::string {
    Number number{};
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec == std::errc() && read.ptr == end && number >= min && number <= max) return "";
    return fmt::format("{} is not a number from {} to {}", text, min, max);
  };
  return {check, ""};
}

bool TakesValue(const CLI::Option* option) { return option->get_expected_max() != 0; }

// One line a flag: names, what its value is, what it does, and its default. The environment's names
// follow from the flags' and are left out.
class Help : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    return TakesValue(option) ? " " + option->get_type_name() : "";
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string standard = option->get_default_str();
    const bool has_standard =
        TakesValue(option) && !standard.empty() && standard != "0" && standard != "[]";
    return option->get_description() + (has_standard ? fmt::format(" (default {})", standard) : "");
  }
};

void AddNetwork(CLI::App* app, Settings* settings, RawFlags* raw) {
  app->option_defaults()->group("Network");
  app->add_option("-p,--port", settings->tcp_port, "TCP port; 0: none, -1: any free one")
      ->check(Between(-1, 65535));
  app->add_option("-l,--listen", raw->listen, "where to listen; may be repeated (default: all)")
      ->type_name("ADDRESS[:PORT],...");
  app->add_option("-s,--unix-socket", settings->unix_path,
                  "Unix socket to listen on; no TCP then, unless -p or -l is given too")
      ->type_name("PATH");
  app->add_option("-a,--unix-mask", raw->unix_mask, "access of the Unix socket, octal");
  app->add_option("-c,--conn-limit", settings->connections_max, "connections at once")
      ->check(Between(1U, 10'000'000U));
  app->add_option("-b,--listen-backlog", settings->backlog, "connections waiting to be accepted")
      ->check(Between(1U, 1'000'000U));
  app->add_option("-R,--max-reqs-per-event", settings->requests_per_turn,
                  "commands of one connection before the others get their turn")
      ->check(Between(1U, 1'000'000U));
  app->add_option("-B,--protocol", raw->protocol, "auto (by the first byte), ascii or binary")
      ->type_name("NAME");
  app->add_option("-U,--udp-port", raw->udp_port, "only 0, no UDP, is supported yet")
      ->check(Between(0, 65535));
}

void AddMemory(CLI::App* app, Settings* settings, RawFlags* raw) {
  app->option_defaults()->group("Memory");
  app->add_option("-m,--memory-limit", raw->memory_megabytes, "memory for items, in megabytes")
      ->check(Between(std::size_t{1}, std::size_t{1} << 24));
  app->add_option("-I,--max-item-size", raw->item_bytes_max,
                  "largest item; k, m or g may follow; at most half of -m")
      ->type_name("BYTES");
  app->add_flag("-M,--disable-evictions", raw->disables_evictions,
                "answer with an error instead of evicting");
  app->add_option("-f,--slab-growth-factor", settings->class_factor,
                  "step from one item size class to the next")
      ->check(Between(1.01, 100.0));
  app->add_option("-n,--slab-min-size", settings->slot_bytes_min,
                  "smallest room for key, value and flags, in bytes")
      ->check(Between(std::size_t{8}, std::size_t{1} << 19));
  app->add_flag("-C,--disable-cas", raw->disables_cas, "no CAS");
  app->add_flag("-L,--enable-largepages", settings->uses_large_pages,
                "all memory at once, in large pages");
  app->add_flag("-k,--lock-memory", settings->locks_memory, "lock all memory");
}

void AddThreads(CLI::App* app, Settings* settings) {
  app->option_defaults()->group("Threads and rings");
  app->add_option("-t,--threads", settings->thread_count,
                  "worker threads (default: the CPUs that this process may use)")
      ->check(Between(1U, kThreadCountMax));
  app->add_option("--ring-depth", settings->ring_depth, "submission entries of a worker's ring")
      ->check(Between(kRingDepthMin, kRingDepthMax));
  app->add_option("--cq-depth", settings->cq_depth, "completion entries of a worker's ring")
      ->check(Between(2 * kRingDepthMin, 2 * kRingDepthMax));
}

void AddCommands(CLI::App* app, Settings* settings, RawFlags* raw) {
  app->option_defaults()->group("What clients may do");
  app->add_flag("-A,--enable-shutdown", settings->allows_shutdown, "allow the shutdown command");
  app->add_flag("-F,--disable-flush-all", raw->disables_flush, "refuse flush_all");
  app->add_option("-D", raw->prefix_delimiter,
                  "count by key prefix, which ends at this character (stats detail)");
  app->add_flag("-X,--disable-dumping", raw->disables_dump, "refuse to list keys");
}

void AddProcess(CLI::App* app, Settings* settings, RawFlags* raw) {
  app->option_defaults()->group("Process");
  app->add_flag("-d,--daemon", settings->becomes_daemon, "run in the background");
  app->add_option("-P,--pidfile", settings->pid_file, "write the process id here")
      ->type_name("PATH");
  app->add_option("-u,--user", settings->user, "user to become when started by root")
      ->type_name("NAME");
  app->add_flag("-r,--enable-coredumps", settings->raises_core_limit, "raise the core file limit");
  app->add_flag("-v,--verbose", raw->verbosity, "say more; -vv and -vvv still more");
  app->add_option("-o,--extended", raw->extended,
                  "memcached's extended options, as idle_timeout=SECONDS or no_maxconns_fast")
      ->type_name("NAME[=VALUE],...");
}

// What is asked of the program once: not to be given by the environment.
void AddQuestions(CLI::App* app, Settings* settings, RawFlags* raw) {
  app->option_defaults()->group("Instead of serving");
  app->set_help_flag("-h,--help", "print this help and exit");
  app->add_flag("-V,--version", raw->shows_version, "print the version and exit");
  app->add_flag("-i,--license", raw->shows_license, "print the license and exit");
  app->add_flag("--healthcheck", settings->checks_health,
                "ask the server at these addresses whether it serves, and exit with 0 or 1");
}

// memcached's flags that have no effect here yet: known, so that they can be refused in words.
void AddRefused(CLI::App* app, std::vector<std::string>* refused) {
  const auto refuse = [app, refused](const char* names, bool takes_value) {
    const auto note = [refused, names](const CLI::results_t&) {
      refused->emplace_back(names, 2);
      return true;
    };
    CLI::Option* option = app->add_option(names, note, "");
    option->expected(takes_value ? 1 : 0)->group("");
  };
  refuse("-W,--disable-watch", false);
  refuse("-Y,--auth-file", true);
  refuse("-S,--enable-sasl", false);
  refuse("-Z,--enable-ssl", false);
  refuse("-e,--memory-file", true);
  refuse("-N,--napi-ids", true);
}

void NameEnvironment(CLI::App* app) {
  for (CLI::Option* option : app->get_options()) {
    if (option->get_lnames().empty()) continue;
    option->envname(EnvironmentName(option->get_lnames().front()));
  }
}

// As with memcached, of a value given twice the last one counts; lists are joined.
void LetLastCount(CLI::App* app) {
  for (CLI::Option* option : app->get_options()) {
    const bool is_single = option->get_expected_max() == 1;
    if (is_single) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
}

// Variables that look like ours and name no flag: somebody may have meant one.
std::vector<std::string> UnknownVariables(const CLI::App& app) {
  std::vector<std::string> unknown;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string name(*entry, std::string_view(*entry).find('='));
    if (!name.starts_with(kEnvironmentPrefix) || name == "RINGCACHED_DEBUG_COMMANDS") continue;
    const auto names_it = [&name](const CLI::Option* option) {
      return option->get_envname() == name;
    };
    if (std::ranges::none_of(app.get_options(), names_it)) unknown.push_back(std::move(name));
  }
  return unknown;
}

// The flag that the parser speaks of: "--flag: ..." and "Could not convert: --flag = ...".
std::string FlagIn(std::string_view said) {
  constexpr std::string_view kConvert = "Could not convert: ";
  if (said.starts_with(kConvert)) said.remove_prefix(kConvert.size());
  return said.starts_with('-') ? std::string(said.substr(0, said.find_first_of(": "))) : "";
}

// The parser's words in one line that says what to change.
std::string Explain(const CLI::ParseError& error) {
  std::string line = error.what();
  const std::string flag = FlagIn(line);
  if (flag.empty()) return line + "; see --help";
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) line = flag + ": give a value";
  const std::string variable = EnvironmentName(flag.substr(flag.find_first_not_of('-')));
  const char* value = std::getenv(variable.c_str());
  if (value == nullptr) return line + "; see --help";
  const bool is_link = std::string_view(value).starts_with("tcp://");
  return fmt::format("{}; change {}{}", line, variable,
                     is_link ? " (if Kubernetes sets it: enableServiceLinks: false)" : "");
}

}  // namespace

Farewell Mistake(const std::string& line) {
  return {.text = fmt::format("ringcached: {}\n", line), .exit_code = kExitUsage};
}

std::optional<Farewell> ReadFlags(int argc, const char* const* argv, Settings* settings,
                                  RawFlags* raw) {
  CLI::App app("ringcached: a memcached-compatible cache server on io_uring", "ringcached");
  app.formatter(std::make_shared<Help>());
  app.get_formatter()->column_width(34);
  app.footer(
      "A flag --some-name may also be given in the environment as RINGCACHED_SOME_NAME; the "
      "command "
      "line\ncounts more.");
  app.set_help_flag();
  app.option_defaults()->always_capture_default();
  AddNetwork(&app, settings, raw);
  AddMemory(&app, settings, raw);
  AddThreads(&app, settings);
  AddCommands(&app, settings, raw);
  AddProcess(&app, settings, raw);
  AddRefused(&app, &raw->refused);
  NameEnvironment(&app);
  AddQuestions(&app, settings, raw);
  LetLastCount(&app);
  for (CLI::Option* option : app.get_options()) {
    const bool is_number = option->get_type_name() == "INT" || option->get_type_name() == "UINT" ||
                           option->get_type_name() == "FLOAT" || option->get_type_name() == "TEXT";
    if (is_number) option->type_name("N");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return Farewell{.text = app.help()};
  } catch (const CLI::ParseError& error) {
    return Mistake(Explain(error));
  }
  settings->tcp_port_is_given = app.count("--port") != 0;
  raw->item_bytes_max_is_given = app.count("--max-item-size") != 0;
  for (const std::string& name : UnknownVariables(app)) {
    settings->notes.push_back(name + " in the environment names no flag and is not used");
  }
  return std::nullopt;
}

}  // namespace server
