#include "test/support/port.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "test/support/failure.h"

namespace support {
namespace {

struct Range {
  unsigned first = 21300;
  unsigned last = 21399;
};

Range RangeOfTests() {
  Range range;
  const char* text = std::getenv("RINGCACHED_TEST_PORTS");
  if (text == nullptr) return range;
  if (std::sscanf(text, "%u-%u", &range.first, &range.last) != 2 || range.first == 0 ||
      range.first > range.last || range.last > 65535) {
    throw Failure(fmt::format("RINGCACHED_TEST_PORTS must be FIRST-LAST, but is '{}'", text));
  }
  return range;
}

// Open when no other test holds the port.
SocketHandle Hold(unsigned port) {
  SocketHandle socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = fmt::format("ringcached-test-port-{}", port);
  std::ranges::copy(name, address.sun_path + 1);  // A leading zero byte: the abstract name space.
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address), length) != 0) socket.Close();
  return socket;
}

// Whether a server could listen there: somebody who is no test of ours may have it.
bool CanListen(unsigned port) {
  const SocketHandle socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

}  // namespace

PortReservation::PortReservation() {
  const Range range = RangeOfTests();
  const unsigned count = range.last - range.first + 1;
  const auto start = static_cast<unsigned>(getpid());
  for (unsigned i = 0; i < count; ++i) {
    const unsigned port = range.first + (start + i) % count;
    SocketHandle holder = Hold(port);
    if (!holder.is_open() || !CanListen(port)) continue;
    holder_ = std::move(holder);
    port_ = static_cast<std::uint16_t>(port);
    return;
  }
  throw Failure(fmt::format("no free port from {} to {}", range.first, range.last));
}

}  // namespace support
