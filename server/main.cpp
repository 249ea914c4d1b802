// The program: reads the settings, prepares the process, runs the server.
//
// Threads: main.
#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "server/config.h"
#include "server/listener.h"
#include "server/process.h"
#include "server/server.h"
#include "server/version.h"

namespace server {
namespace {

void SetUpLog(std::int32_t verbosity) {
  auto log = spdlog::stderr_logger_st("ringcached");
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  log->set_level(verbosity > 0 ? spdlog::level::debug : spdlog::level::info);
  spdlog::set_default_logger(std::move(log));
}

int Leave(const Farewell& farewell) {
  std::fputs(farewell.text.c_str(), farewell.exit_code == kExitOk ? stdout : stderr);
  return farewell.exit_code;
}

// Everything that must happen before threads exist. A value means: exit with it.
std::optional<Farewell> PrepareProcess(const Settings& settings) {
  if (auto failed = RaiseFileLimit(settings)) return failed;
  if (settings.raises_core_limit) {
    if (auto failed = RaiseCoreLimit()) return failed;
  }
  if (!settings.user.empty()) {
    if (auto failed = DropToUser(settings.user)) return failed;
  }
  if (settings.becomes_daemon) {
    if (auto failed = BecomeDaemon()) return failed;
  }
  if (settings.locks_memory) {
    if (auto failed = LockMemory()) return failed;
  }
  return std::nullopt;
}

void SayHello(const Server& server, const Settings& settings) {
  for (const std::string& option : settings.idle_options) {
    spdlog::info("-o {} is accepted and changes nothing here", option);
  }
  std::string addresses;
  for (const auto& listener : server.listeners()) {
    addresses += (addresses.empty() ? "" : ", ") + listener->address();
  }
  spdlog::info("ringcached {} listening on {} with {} threads, io_uring ({})", kOwnVersion,
               addresses, settings.thread_count, server.RingText());
}

int Main(int argc, const char* const* argv) {
  Settings settings;
  if (auto farewell = ReadConfig(argc, argv, &settings)) return Leave(*farewell);
  if (settings.checks_health) return CheckHealth(settings);
  SetUpLog(settings.verbosity);
  auto sockets = OpenListeningSockets(settings);
  if (!sockets) {
    return Leave(
        {.text = fmt::format("ringcached: {}\n", sockets.error()), .exit_code = kExitSystem});
  }
  if (auto farewell = PrepareProcess(settings)) return Leave(*farewell);
  Server server(&settings, std::move(*sockets));
  if (auto opened = server.Open(); !opened) {
    return Leave(
        {.text = fmt::format("ringcached: {}\n", opened.error()), .exit_code = kExitUnavailable});
  }
  if (!settings.pid_file.empty()) {
    if (auto farewell = WritePidFile(settings.pid_file)) return Leave(*farewell);
  }
  SayHello(server, settings);
  server.Run();
  spdlog::info("stopped");
  return kExitOk;
}

}  // namespace
}  // namespace server

int main(int argc, char** argv) { return server::Main(argc, argv); }
