#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "server/process.h"

namespace server {
namespace {

constexpr int kHealthy = 0;
constexpr int kUnhealthy = 1;
constexpr std::string_view kQuestion = "version\r\n";
constexpr std::string_view kAnswerHead = "VERSION ";

void LimitWaits(int fd) {
  const timeval limit{.tv_sec = 3, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

int ConnectUnix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return -1;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  LimitWaits(fd);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

int ConnectTcp(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* addresses = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &addresses) != 0) return -1;
  int fd = -1;
  for (const addrinfo* address = addresses; fd < 0 && address != nullptr;
       address = address->ai_next) {
    fd = socket(address->ai_family, SOCK_STREAM, 0);
    LimitWaits(fd);
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0) break;
    close(fd);
    fd = -1;
  }
  freeaddrinfo(addresses);
  return fd;
}

int Connect(const Settings& settings) {
  const bool is_unix_only = !settings.tcp_port_is_given && settings.listen.empty();
  if (!settings.unix_path.empty() && is_unix_only) return ConnectUnix(settings.unix_path);
  const ListenAddress address = settings.listen.empty() ? ListenAddress() : settings.listen.front();
  const bool is_anywhere = address.host.empty() || address.host == "0.0.0.0";
  std::string host = is_anywhere ? "127.0.0.1" : address.host;
  if (host == "::") host = "::1";
  return ConnectTcp(host, std::to_string(address.port >= 0 ? address.port : settings.tcp_port));
}

}  // namespace

int CheckHealth(const Settings& settings) {
  const int fd = Connect(settings);
  if (fd < 0) return kUnhealthy;
  std::array<char, 256> answer{};
  const bool is_asked = send(fd, kQuestion.data(), kQuestion.size(), MSG_NOSIGNAL) ==
                        static_cast<ssize_t>(kQuestion.size());
  const ssize_t bytes = is_asked ? recv(fd, answer.data(), answer.size(), 0) : -1;
  close(fd);
  const bool is_healthy =
      bytes > 0 &&
      std::string_view(answer.data(), static_cast<std::size_t>(bytes)).starts_with(kAnswerHead);
  return is_healthy ? kHealthy : kUnhealthy;
}

}  // namespace server
