// What `stats` answers, group by group.
//
// Every key that memcached prints is printed, with a true value or, where ringcached has no such
// mechanism, 0: exporters break on missing keys. How the lines are put on the wire is the
// protocol's matter: WordStats.
//
// Threads: a worker's; reads the server's settings and the folded sum.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/aggregator.h"
#include "server/stats_request.h"
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

// `group`: what stands behind "stats".
bool AsksReset(std::string_view group);

// Answers from the sum that the ticket holds.
StatsAnswer AnswerStats(std::string_view group, Worker& worker, const FoldTicket& ticket);

// The answer as the protocol it was asked in words it, with its end.
std::string WordStats(const StatsRequest& request, const StatsAnswer& answer);

}  // namespace server
