#include "test/support/client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "test/support/bytes.h"
#include "test/support/failure.h"

namespace support {
namespace {

[[noreturn]] void ThrowErrno(std::string_view what) {
  throw Failure(fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

// Returns the events that hold, 0 when the deadline passed.
short Poll(int fd, short events, const Deadline& deadline) {
  for (;;) {
    pollfd entry{.fd = fd, .events = events, .revents = 0};
    const int ready = poll(&entry, 1, deadline.remaining_ms());
    if (ready >= 0) return ready == 0 ? short{0} : entry.revents;
    if (errno != EINTR) ThrowErrno("poll");
  }
}

int ConnectUnix(int fd, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) throw Failure("socket path too long: " + path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

int ConnectTcp(int fd, std::uint16_t port) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

}  // namespace

Client::Client(const Endpoint& endpoint, int receive_buffer_bytes)
    : socket_(
          ::socket(endpoint.unix_path.empty() ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (!socket_.is_open()) ThrowErrno("socket");
  if (receive_buffer_bytes > 0) {
    setsockopt(fd(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof(receive_buffer_bytes));
  }
  const timeval limit{.tv_sec = kWaitMax.count() / 1000, .tv_usec = 0};  // Also of connect().
  setsockopt(fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  const int connected = endpoint.unix_path.empty() ? ConnectTcp(fd(), endpoint.port)
                                                   : ConnectUnix(fd(), endpoint.unix_path);
  if (connected != 0) ThrowErrno("connect");
}

std::ptrdiff_t Client::SendSome(std::string_view bytes) const {
  const ssize_t sent = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return sent;
  if (errno == EAGAIN || errno == EINTR) return 0;
  if (errno == EPIPE || errno == ECONNRESET) return -1;
  ThrowErrno("send");
}

Client::More Client::ReceiveSome() {
  std::array<char, 65536> room;
  const ssize_t received = ::recv(fd(), room.data(), room.size(), MSG_DONTWAIT);
  if (received > 0) {
    buffer_.append(room.data(), static_cast<std::size_t>(received));
    return More::kBytes;
  }
  if (received == 0 || errno == ECONNRESET) return More::kEnd;
  if (errno == EAGAIN || errno == EINTR) return More::kLate;
  ThrowErrno("recv");
}

void Client::Send(std::string_view bytes) {
  const Deadline deadline(kWaitMax);
  while (!bytes.empty()) {
    const std::ptrdiff_t sent = SendSome(bytes);
    if (sent < 0) throw Failure("the server closed before it had taken everything");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
    if (!bytes.empty() && Poll(fd(), POLLOUT, deadline) == 0) {
      throw Failure(fmt::format("the server does not read: {} bytes left to send", bytes.size()));
    }
  }
}

bool Client::SendWhileReceiving(std::string_view bytes) {
  const Deadline deadline(kWaitMax);
  while (!bytes.empty()) {
    const std::ptrdiff_t sent = SendSome(bytes);
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
    if (bytes.empty()) break;
    const short ready = Poll(fd(), POLLIN | POLLOUT, deadline);
    if (ready == 0) {
      throw Failure(fmt::format("the server does not read: {} bytes left to send", bytes.size()));
    }
    if ((ready & (POLLIN | POLLHUP | POLLERR)) != 0 && ReceiveSome() == More::kEnd) return false;
  }
  return true;
}

void Client::AwaitTaken(std::chrono::milliseconds limit) {
  const Deadline deadline(limit);
  int left = 0;
  while (ioctl(fd(), SIOCOUTQ, &left) == 0 && left > 0 && !deadline.passed()) {
    if (ReceiveSome() == More::kEnd) return;
    std::this_thread::yield();
  }
}

void Client::HalfClose() {
  if (shutdown(fd(), SHUT_WR) != 0) ThrowErrno("shutdown");
}

void Client::Reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  socket_.Close();
}

Client::More Client::ReceiveMore(const Deadline& deadline) {
  for (;;) {
    if (Poll(fd(), POLLIN, deadline) == 0) return More::kLate;
    const More more = ReceiveSome();
    if (more != More::kLate) return more;
  }
}

void Client::MustReceiveMore(const Deadline& deadline, std::string_view what) {
  switch (ReceiveMore(deadline)) {
    case More::kBytes:
      return;
    case More::kEnd:
      throw Failure(fmt::format("the server closed; wanted {}, got: {}", what, Show(buffered())));
    case More::kLate:
      throw Failure(fmt::format("no answer in {} ms; wanted {}, got: {}", kWaitMax.count(), what,
                                Show(buffered())));
  }
}

std::string Client::Receive(std::size_t bytes) {
  const Deadline deadline(kWaitMax);
  while (buffered().size() < bytes) MustReceiveMore(deadline, fmt::format("{} bytes", bytes));
  std::string taken(buffered().substr(0, bytes));
  Consume(bytes);
  return taken;
}

std::string Client::ReceiveLine() {
  const Deadline deadline(kWaitMax);
  for (std::size_t searched = 0;;) {
    const std::size_t end = buffered().find('\n', searched);
    if (end != std::string_view::npos) return Receive(end + 1);
    searched = buffered().size();
    MustReceiveMore(deadline, "a line");
  }
}

std::string Client::ReceiveUntilClose() {
  const Deadline deadline(kWaitMax);
  for (;;) {
    const More more = ReceiveMore(deadline);
    if (more == More::kEnd) return Receive(buffered().size());
    if (more == More::kLate) {
      throw Failure(
          fmt::format("not closed in {} ms; got: {}", kWaitMax.count(), Show(buffered())));
    }
  }
}

std::string_view Client::buffered() const {
  return std::string_view(buffer_).substr(consumed_bytes_);
}

void Client::Consume(std::size_t bytes) {
  consumed_bytes_ += bytes;
  if (consumed_bytes_ == buffer_.size()) {
    buffer_.clear();
    consumed_bytes_ = 0;
  } else if (consumed_bytes_ > buffer_.size() / 2 && consumed_bytes_ > 65536) {
    buffer_.erase(0, consumed_bytes_);
    consumed_bytes_ = 0;
  }
}

}  // namespace support
