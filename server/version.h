// What the server calls itself.
//
// Clients parse the answer to `version` and compare its first three numbers with memcached's: those
// are the level of memcached's behaviour that ringcached has; its own version stands behind them.
//
// Threads: constants.
#pragma once

#include <string_view>

#ifndef RINGCACHED_VERSION
#error "RINGCACHED_VERSION comes from CMakeLists.txt"
#endif
#define RINGCACHED_COMPATIBLE_VERSION "1.6.45"

namespace server {

inline constexpr std::string_view kOwnVersion = RINGCACHED_VERSION;
inline constexpr std::string_view kVersion =
    RINGCACHED_COMPATIBLE_VERSION "-ringcached-" RINGCACHED_VERSION;
inline constexpr std::string_view kVersionAnswer =
    "VERSION " RINGCACHED_COMPATIBLE_VERSION "-ringcached-" RINGCACHED_VERSION "\r\n";

}  // namespace server
