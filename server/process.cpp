#include "server/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

namespace server {
namespace {

Farewell Failure(int exit_code, const std::string& line) {
  return {.text = fmt::format("ringcached: {}\n", line), .exit_code = exit_code};
}

// A reader sees the file whole or not at all.
std::optional<Farewell> WriteWhole(const std::string& path, const std::string& text,
                                   std::string_view named_by) {
  const std::string written = path + ".lck";
  std::ofstream file(written);
  file << text;
  file.close();
  if (file && std::rename(written.c_str(), path.c_str()) == 0) return std::nullopt;
  return Failure(kExitSystem, fmt::format("{} {}: {}", named_by, path, std::strerror(errno)));
}

}  // namespace

std::optional<Farewell> RaiseFileLimit(const Settings& settings) {
  // A ring and its eventfd a thread, and what logging, listening and the rest of the process need.
  const rlim_t needed = settings.connections_max + 2 * rlim_t{settings.thread_count} + 64;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= needed) return std::nullopt;
  const rlim_t allowed = limit.rlim_max;
  limit = {.rlim_cur = needed, .rlim_max = std::max(allowed, needed)};
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return std::nullopt;
  return Failure(
      kExitSystem,
      fmt::format("-c {} needs {} file descriptors and only {} are allowed; raise the limit "
                  "(ulimit -n, LimitNOFILE) or lower -c",
                  settings.connections_max, needed, allowed));
}

std::optional<Farewell> RaiseCoreLimit() {
  rlimit limit{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  if (setrlimit(RLIMIT_CORE, &limit) == 0) return std::nullopt;
  getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_CORE, &limit);
  if (limit.rlim_cur != 0) return std::nullopt;
  return Failure(kExitSystem, "-r: core files are not allowed here; raise the limit (ulimit -c)");
}

std::optional<Farewell> DropToUser(const std::string& user) {
  if (getuid() != 0 && geteuid() != 0)
    return std::nullopt;  // As memcached: only root can, others need not.
  const passwd* entry = getpwnam(user.c_str());
  if (entry == nullptr) {
    return Failure(kExitNoUser, fmt::format("-u {}: there is no such user", user));
  }
  if (setgroups(0, nullptr) != 0 || setgid(entry->pw_gid) != 0 || setuid(entry->pw_uid) != 0) {
    return Failure(kExitSystem, fmt::format("-u {}: {}", user, std::strerror(errno)));
  }
  return std::nullopt;
}

std::optional<Farewell> BecomeDaemon() {
  const pid_t child = fork();
  if (child < 0) return Failure(kExitSystem, fmt::format("-d: {}", std::strerror(errno)));
  if (child > 0) _exit(kExitOk);
  setsid();
  if (chdir("/") != 0) return Failure(kExitSystem, fmt::format("-d: {}", std::strerror(errno)));
  const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard_fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    dup2(null_fd, standard_fd);
  }
  if (null_fd > STDERR_FILENO) close(null_fd);
  return std::nullopt;
}

std::optional<Farewell> LockMemory() {
  if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0) return std::nullopt;
  return Failure(
      kExitSystem,
      fmt::format("-k: memory cannot be locked ({}); raise the limit (ulimit -l) or leave -k out",
                  std::strerror(errno)));
}

std::optional<Farewell> WritePidFile(const std::string& path) {
  return WriteWhole(path, fmt::format("{}\n", getpid()), "-P");
}

std::optional<Farewell> WritePortFile(const std::vector<std::string>& addresses) {
  const char* path = std::getenv("MEMCACHED_PORT_FILENAME");
  if (path == nullptr) return std::nullopt;
  std::string text;
  for (const std::string& address : addresses) {
    const std::size_t colon = address.rfind(':');
    if (address.starts_with('/') || colon == std::string::npos) continue;
    const char* family = address.starts_with('[') ? "INET6" : "INET";
    text += fmt::format("TCP {}: {}\n", family, address.substr(colon + 1));
  }
  return WriteWhole(path, text, "MEMCACHED_PORT_FILENAME");
}

}  // namespace server
