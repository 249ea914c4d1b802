// The forms of -l: addresses with or without a port.
//
// Threads: main.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "server/settings.h"

namespace server {

// Reads a comma-separated list: "127.0.0.1", "host:11212", "::1", "[::1]:11212". The error is one
// line.
std::expected<std::vector<ListenAddress>, std::string> ReadListenAddresses(std::string_view list);

}  // namespace server
