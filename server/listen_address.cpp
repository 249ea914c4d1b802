#include "server/listen_address.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "server/protocol/number.h"

namespace server {
namespace {

constexpr std::array<std::string_view, 5> kPrefixes = {"notls:", "btls:", "mtls:", "proto[",
                                                       "tag["};

std::unexpected<std::string> Bad(std::string_view entry, std::string_view why) {
  return std::unexpected(fmt::format("-l {}: {}", entry, why));
}

std::expected<ListenAddress, std::string> ReadOne(std::string_view entry) {
  if (entry.empty()) return Bad(entry, "an address is empty; write them as -l ADDRESS[:PORT],...");
  const bool has_prefix = std::ranges::any_of(
      kPrefixes, [entry](std::string_view prefix) { return entry.starts_with(prefix); });
  if (has_prefix)
    return Bad(entry, "TLS and protocol prefixes are not supported yet; leave them out");
  std::string_view host = entry;
  std::string_view port;
  if (entry.front() == '[') {
    const std::size_t close = entry.find(']');
    if (close == std::string_view::npos) return Bad(entry, "the bracket is not closed");
    host = entry.substr(1, close - 1);
    const std::string_view rest = entry.substr(close + 1);
    if (!rest.empty() && rest.front() != ':') return Bad(entry, "after ] comes :PORT or nothing");
    if (!rest.empty()) port = rest.substr(1);
    if (!rest.empty() && port.empty()) return Bad(entry, "the port is missing");
  } else if (std::ranges::count(entry, ':') == 1) {
    const std::size_t colon = entry.find(':');
    host = entry.substr(0, colon);
    port = entry.substr(colon + 1);
    if (port.empty()) return Bad(entry, "the port is missing");
  }
  ListenAddress address{.host = std::string(host == "*" ? "" : host)};
  if (port.empty()) return address;
  const auto number = protocol::ParseNumber<std::uint16_t>(port);
  if (!number) return Bad(entry, "the port is no number from 0 to 65535");
  address.port = *number;
  return address;
}

}  // namespace

std::expected<std::vector<ListenAddress>, std::string> ReadListenAddresses(std::string_view list) {
  std::vector<ListenAddress> addresses;
  for (;;) {
    const std::size_t comma = std::min(list.find(','), list.size());
    auto address = ReadOne(list.substr(0, comma));
    if (!address) return std::unexpected(address.error());
    addresses.push_back(std::move(*address));
    if (comma == list.size()) return addresses;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace server
