// StatsRequest: a request for statistics that waits for them to be folded.
//
// Threads: values; any.
#pragma once

#include <string>

#include "server/protocol/command.h"

namespace server {

struct StatsRequest {
  std::string group;  // What stands behind "stats"; empty: the general figures.
  protocol::Dialect dialect = protocol::Dialect::kClassic;
  protocol::BinaryFrame frame;  // What a binary answer repeats.
};

}  // namespace server
