#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "server/listener.h"

namespace server {
namespace {

using Sockets = std::vector<ListeningSocket>;
using Failure = std::unexpected<std::string>;

// Closes what it holds unless it is released.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

void SetOption(int fd, int level, int option) {
  const int on = 1;
  setsockopt(fd, level, option, &on, sizeof on);
}

// Sockets that are accepted inherit these.
void SetTcpOptions(int fd) {
  SetOption(fd, SOL_SOCKET, SO_REUSEADDR);
  SetOption(fd, SOL_SOCKET, SO_KEEPALIVE);
  SetOption(fd, IPPROTO_TCP, TCP_NODELAY);
}

std::string AddressText(int fd) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  getnameinfo(reinterpret_cast<sockaddr*>(&address), bytes, host.data(), host.size(), port.data(),
              port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  return address.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host.data(), port.data())
                                       : fmt::format("{}:{}", host.data(), port.data());
}

struct AddressesDeleter {
  void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, AddressesDeleter>;

std::expected<Addresses, std::string> Resolve(const ListenAddress& listen, std::int32_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* addresses = nullptr;
  const std::string service = std::to_string(port);
  const char* host = listen.host.empty() ? nullptr : listen.host.c_str();
  const int error = getaddrinfo(host, service.c_str(), &hints, &addresses);
  if (error != 0) {
    return Failure(fmt::format("cannot listen on {}: {}; give an address of this machine with -l",
                               listen.host, gai_strerror(error)));
  }
  return Addresses(addresses);
}

// A family that the system lacks (IPv6 switched off) is no error as long as another works: fd -1.
std::expected<int, std::string> OpenOne(const addrinfo& address, std::uint32_t backlog) {
  Descriptor socket_fd(socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, 0));
  if (socket_fd.get() < 0) return -1;
  SetTcpOptions(socket_fd.get());
  if (address.ai_family == AF_INET6) SetOption(socket_fd.get(), IPPROTO_IPV6, IPV6_V6ONLY);
  if (bind(socket_fd.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno == EADDRNOTAVAIL) return -1;
    return Failure(std::strerror(errno));
  }
  if (listen(socket_fd.get(), static_cast<int>(backlog)) != 0) return Failure(std::strerror(errno));
  return socket_fd.Release();
}

std::expected<void, std::string> OpenTcp(const ListenAddress& listen, const Settings& settings,
                                         Sockets* sockets) {
  const std::int32_t port = listen.port >= 0 ? listen.port : settings.tcp_port;
  auto addresses = Resolve(listen, port > 0 ? port : 0);
  if (!addresses) return Failure(addresses.error());
  const std::size_t count_before = sockets->size();
  for (const addrinfo* address = addresses->get(); address != nullptr; address = address->ai_next) {
    const auto fd = OpenOne(*address, settings.backlog);
    if (!fd) {
      return Failure(fmt::format("cannot listen on {}:{}: {}; choose another with -p or -l",
                                 listen.host, port, fd.error()));
    }
    if (*fd >= 0) sockets->push_back({*fd, AddressText(*fd)});
  }
  if (sockets->size() == count_before) {
    return Failure(fmt::format("cannot listen on {}: it is no address of this machine; change -l",
                               listen.host));
  }
  return {};
}

// A socket file that nobody listens on any more may be replaced; nothing else may.
std::expected<void, std::string> RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode)) {
    return Failure(fmt::format("{} exists and is no socket; remove it or change -s", path));
  }
  const Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return Failure(fmt::format("another server listens on {}; stop it or change -s", path));
  }
  unlink(path.c_str());
  return {};
}

std::expected<void, std::string> OpenUnix(const Settings& settings, Sockets* sockets) {
  const std::string& path = settings.unix_path;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Failure(
        fmt::format("the path of -s is too long: {} bytes at most", sizeof address.sun_path - 1));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (auto removed = RemoveStale(path, address); !removed) return removed;
  Descriptor socket_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const mode_t old_mask = umask(static_cast<mode_t>(~settings.unix_mask & 0777));
  const int bound =
      bind(socket_fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  umask(old_mask);
  if (bound != 0 || listen(socket_fd.get(), static_cast<int>(settings.backlog)) != 0) {
    return Failure(fmt::format("cannot listen on {}: {}", path, std::strerror(errno)));
  }
  sockets->push_back({socket_fd.Release(), path});
  return {};
}

std::expected<void, std::string> OpenAll(const Settings& settings, Sockets* sockets) {
  // As in memcached a Unix socket alone is enough; with -p or -l there is TCP too.
  const bool has_unix = !settings.unix_path.empty();
  const bool has_tcp = settings.tcp_port != 0 && (!has_unix || settings.tcp_port_is_given);
  if (has_unix) {
    if (auto opened = OpenUnix(settings, sockets); !opened) return opened;
  }
  if (!has_tcp && !(has_unix && !settings.listen.empty())) return {};
  if (settings.listen.empty()) return OpenTcp({}, settings, sockets);
  for (const ListenAddress& listen : settings.listen) {
    if (auto opened = OpenTcp(listen, settings, sockets); !opened) return opened;
  }
  return {};
}

}  // namespace

std::expected<std::vector<ListeningSocket>, std::string> OpenListeningSockets(
    const Settings& settings) {
  Sockets sockets;
  if (auto opened = OpenAll(settings, &sockets); !opened) {
    for (const ListeningSocket& socket : sockets) close(socket.fd);
    return Failure(opened.error());
  }
  return sockets;
}

}  // namespace server
