// The sub-options of -o, as memcached names them.
//
// Owner: nobody; plain functions. Threads: main.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "server/settings.h"

namespace server {

// Carries out a comma-separated list such as "idle_timeout=30,no_maxconns_fast". The error is one
// line.
std::expected<void, std::string> ReadExtendedOptions(std::string_view list, Settings* settings);

}  // namespace server
