// Config: from the command line and the environment to Settings.
//
// memcached's flags keep their names and meaning; every long flag --some-name may also be given as
// RINGCACHED_SOME_NAME. What is not built yet is refused in a line that says so; nothing is ignored
// silently.
//
// Threads: main, before anything else starts.
#pragma once

#include <optional>
#include <string>

#include "server/settings.h"

namespace server {

// Exit codes of sysexits.h, which scripts know from memcached.
enum ExitCode : int {
  kExitOk = 0,
  kExitUsage = 64,        // A mistake in the command line or environment.
  kExitNoUser = 67,       // -u names nobody.
  kExitUnavailable = 69,  // The system refuses what we need.
  kExitSystem = 71,       // The system failed.
};

// What reading the flags came to when the server shall not start: text to print and the exit code.
struct Farewell {
  std::string text;
  int exit_code = kExitOk;
};

// Fills *settings. A value means: print it and exit.
std::optional<Farewell> ReadConfig(int argc, const char* const* argv, Settings* settings);

}  // namespace server
