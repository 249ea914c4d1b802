// What `stats` answers, group by group.
//
// Every key that memcached prints is printed, with a true value or, where ringcached has no such
// mechanism, 0: exporters break on missing keys. How the lines are put on the wire is the
// protocol's matter: ClassicStats here.
//
// Threads: a worker's; reads the server's settings and the folded sum.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/aggregator.h"
#include "server/worker.h"

namespace server {

// What came of `stats ...`.
struct StatsAnswer {
  enum class Kind : std::uint8_t {
    kLines,    // Names and values.
    kReset,    // The counters begin anew.
    kUnknown,  // There is no such group.
  };
  Kind kind = Kind::kUnknown;
  std::vector<std::pair<std::string, std::string>> lines;
};

// Whether the command line asks for a reset.
bool AsksReset(std::string_view line);

// Answers the command line from the sum that the ticket holds.
StatsAnswer AnswerStats(std::string_view line, Worker& worker, const FoldTicket& ticket);

// The answer as the classic protocol words it, with its END.
std::string ClassicStats(const StatsAnswer& answer);

}  // namespace server
