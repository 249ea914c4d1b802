#include "server/config.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "server/extended_options.h"
#include "server/flags.h"
#include "server/listen_address.h"
#include "server/protocol/number.h"
#include "server/version.h"

namespace server {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

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

std::optional<std::string> JudgeMemory(const RawFlags& raw, Settings* settings) {
  settings->memory_bytes = raw.memory_megabytes * kMegabyte;
  const auto item_bytes_max = ReadBytes(raw.item_bytes_max);
  if (!item_bytes_max) {
    return fmt::format("-I {}: give bytes, or a number with k, m or g behind it",
                       raw.item_bytes_max);
  }
  if (*item_bytes_max < 1024 || *item_bytes_max > (std::size_t{1} << 30)) {
    return fmt::format("-I {}: must be from 1k to 1024m", raw.item_bytes_max);
  }
  settings->item_bytes_max = *item_bytes_max;
  if (*item_bytes_max > settings->memory_bytes / 2) {
    if (raw.item_bytes_max_is_given) {
      return fmt::format("-I {}: must not be above half of the memory limit; raise -m or lower -I",
                         raw.item_bytes_max);
    }
    settings->item_bytes_max = settings->memory_bytes / 2;
    settings->notes.push_back(fmt::format("-m {}: the largest item is half of it, {} KiB",
                                          raw.memory_megabytes, settings->item_bytes_max >> 10));
  }
  settings->evicts = !raw.disables_evictions;
  settings->has_cas = !raw.disables_cas;
  settings->allows_flush = !raw.disables_flush;
  settings->allows_dump = !raw.disables_dump;
  if (raw.prefix_delimiter.size() > 1) {
    return fmt::format("-D {}: give one character", raw.prefix_delimiter);
  }
  if (!raw.prefix_delimiter.empty()) {
    settings->prefix_delimiter = raw.prefix_delimiter.front();
    settings->counts_prefixes = true;
  }
  return std::nullopt;
}

std::optional<std::string> JudgeNetwork(const RawFlags& raw, Settings* settings) {
  if (raw.udp_port != 0) return "-U: UDP is not supported yet; leave it at 0";
  if (raw.protocol == "ascii") settings->protocols = Protocols::kText;
  if (raw.protocol == "binary") settings->protocols = Protocols::kBinary;
  if (raw.protocol != "auto" && settings->protocols == Protocols::kByFirstByte) {
    return fmt::format("-B {}: give auto, ascii or binary", raw.protocol);
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

std::optional<std::string> JudgeRest(const RawFlags& raw, Settings* settings) {
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

std::string LicenseText() {
  return "ringcached is licensed under the Apache License, Version 2.0: see the file LICENSE, or "
         "https://www.apache.org/licenses/LICENSE-2.0\n";
}

}  // namespace

std::optional<Farewell> ReadConfig(int argc, const char* const* argv, Settings* settings) {
  RawFlags raw;
  if (auto farewell = ReadFlags(argc, argv, settings, &raw)) return farewell;
  if (raw.shows_version) return Farewell{.text = fmt::format("ringcached {}\n", kVersion)};
  if (raw.shows_license) return Farewell{.text = LicenseText()};
  if (!raw.refused.empty()) {
    return Mistake(raw.refused.front() + " is not supported yet; leave it out");
  }
  for (const auto judge : {&JudgeMemory, &JudgeNetwork, &JudgeRest}) {
    if (const auto mistake = judge(raw, settings)) return Mistake(*mistake);
  }
  return std::nullopt;
}

}  // namespace server
