// The answers to `stats`, as the classic protocol words them.
//
// Every key that memcached prints is printed, with a true value or, where ringcached has no such
// mechanism, 0: exporters break on missing keys.
//
// Threads: a worker's; reads the server's settings and the folded sum.
#pragma once

#include <string>
#include <string_view>

#include "server/aggregator.h"
#include "server/worker.h"

namespace server {

// What `stats ...` is asked to do besides answering.
bool AsksReset(std::string_view line);

// The whole answer to the command line, with its END, from the sum that ticket holds.
std::string StatsAnswer(std::string_view line, Worker& worker, const FoldTicket& ticket);

}  // namespace server
