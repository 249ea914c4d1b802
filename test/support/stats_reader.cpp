#include "test/support/stats_reader.h"

#include <fmt/format.h>

#include <charconv>

#include "test/support/bytes.h"
#include "test/support/failure.h"

namespace support {

Stats ReadStats(Client* client, std::string_view group) {
  client->Send(group.empty() ? "stats\r\n" : fmt::format("stats {}\r\n", group));
  Stats stats;
  for (;;) {
    std::string line = client->ReceiveLine();
    if (line == "END\r\n") return stats;
    const std::size_t name_end = line.find(' ', 5);
    if (!line.starts_with("STAT ") || !line.ends_with("\r\n") || name_end == std::string::npos) {
      throw Failure("no line of stats: " + Show(line));
    }
    const std::string name = line.substr(5, name_end - 5);
    const std::string value = line.substr(name_end + 1, line.size() - name_end - 3);
    if (!stats.emplace(name, value).second) throw Failure("twice in stats: " + name);
  }
}

std::int64_t Number(const Stats& stats, std::string_view name) {
  const auto found = stats.find(name);
  if (found == stats.end()) throw Failure(fmt::format("stats has no {}", name));
  const std::string& text = found->second;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw Failure(fmt::format("stats: {} is no whole number: {}", name, text));
  }
  return number;
}

}  // namespace support
