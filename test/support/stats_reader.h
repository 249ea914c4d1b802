// The answer to `stats`, as a map.
//
// Owner: none, functions only. Threads: any; a Client is used by one.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "test/support/client.h"

namespace support {

using Stats = std::map<std::string, std::string, std::less<>>;

// Asks "stats" or "stats GROUP" and checks its form: lines "STAT name value", no name twice, "END".
// Throws Failure when it has another.
Stats ReadStats(Client* client, std::string_view group = {});

// One number out of it. Throws Failure if it is missing or is no whole number.
std::int64_t Number(const Stats& stats, std::string_view name);

}  // namespace support
