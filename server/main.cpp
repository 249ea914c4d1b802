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
#include <utility>
#include <vector>

#include "server/config.h"
#include "server/listener.h"
#include "server/process.h"
#include "server/server.h"
#include "server/version.h"

namespace server {
namespace {

void SetUpLog() {
  auto log = spdlog::stderr_logger_mt("ringcached");
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  log->set_level(spdlog::level::debug);  // What is logged at all is decided where it happens.
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

std::vector<std::string> Addresses(const Server& server) {
  std::vector<std::string> addresses;
  for (const auto& listener : server.listeners()) addresses.push_back(listener->address());
  return addresses;
}

// What scripts look for.
std::optional<Farewell> WriteFiles(const Server& server, const Settings& settings) {
  if (!settings.pid_file.empty()) {
    if (auto failed = WritePidFile(settings.pid_file)) return failed;
  }
  return WritePortFile(Addresses(server));
}

void SayHello(const Server& server, const Settings& settings) {
  for (const std::string& note : settings.notes) spdlog::warn("{}", note);
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
  SetUpLog();
  BlockSignals();
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
  const auto failed = WriteFiles(server, settings);
  if (!failed) SayHello(server, settings);
  if (failed) server.AskStop(nullptr);
  server.Run();
  if (!settings.pid_file.empty()) std::remove(settings.pid_file.c_str());
  if (failed) return Leave(*failed);
  spdlog::info("stopped");
  return kExitOk;
}

}  // namespace
}  // namespace server

int main(int argc, char** argv) { return server::Main(argc, argv); }
