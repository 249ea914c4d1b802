// Process: what the server asks of the operating system before it serves.
//
// Each returns nothing on success, else one line for the user and the exit code.
//
// Threads: main, before any other thread or ring exists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/config.h"
#include "server/settings.h"

namespace server {

// Room for all connections, rings and listening sockets.
std::optional<Farewell> RaiseFileLimit(const Settings& settings);
std::optional<Farewell> RaiseCoreLimit();
std::optional<Farewell> DropToUser(const std::string& user);
// The parent exits here.
std::optional<Farewell> BecomeDaemon();
std::optional<Farewell> LockMemory();
std::optional<Farewell> WritePidFile(const std::string& path);
// Writes the ports of `addresses` ("127.0.0.1:11211") into the file that MEMCACHED_PORT_FILENAME
// names, if the environment has it, in memcached's form: "TCP INET: 11211".
std::optional<Farewell> WritePortFile(const std::vector<std::string>& addresses);

// Asks a running server at the settings' first address whether it serves; the exit code for
// --healthcheck.
int CheckHealth(const Settings& settings);

}  // namespace server
