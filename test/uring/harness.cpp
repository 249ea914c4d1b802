#include "test/uring/harness.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "coro/ensure.h"
#include "uring/receiver.h"

namespace uring_test {
namespace {

// The kernel may give one ring the memory of another that has just gone in another thread. liburing
// maps and unmaps without the C library; so the thread sanitizer sees their order.
std::mutex ring_memory;

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

const sockaddr* Generic(const sockaddr_in* address) {
  return reinterpret_cast<const sockaddr*>(address);
}

void BoundBuffers(int fd, int bytes) {
  if (bytes == 0) return;
  ENSURE(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) == 0);
  ENSURE(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes) == 0);
}

}  // namespace

uring::RingOptions SmallRing(const Mode& mode) {
  return {.sq_entries = 64,
          .cq_entries = 256,
          .buffer_count = 16,
          .buffer_bytes = 4096,
          .setup_flags_denied = mode.setup_flags_denied,
          .deny_msg_ring = mode.deny_msg_ring,
          .deny_multishot = mode.deny_multishot};
}

Loop::Loop(const uring::RingOptions& options) : ring_(std::make_unique<uring::Ring>()) {
  const std::lock_guard lock(ring_memory);
  // The memory of rings that have just gone still counts against an ordinary user's memlock limit.
  int error = ring_->Open(options);
  for (int attempt = 0; error == ENOMEM && attempt < 500; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    error = ring_->Open(options);
  }
  if (error != 0) {
    std::fprintf(stderr, "%s\n", uring::ExplainSetupFailure(error, options).c_str());
  }
  ENSURE(error == 0);
}

Loop::~Loop() {
  const std::lock_guard lock(ring_memory);
  ring_.reset();
}

void Loop::WaitTurn() {
  ring_->Enter(uring::Wait::kYes);
  ring_->ResumeReady();
}

void Loop::PollTurn() {
  ring_->Enter(uring::Wait::kNo);
  ring_->ResumeReady();
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  Close();
  fd_ = other.Release();
  return *this;
}

int Descriptor::Release() { return std::exchange(fd_, -1); }

void Descriptor::Close() {
  if (fd_ >= 0) close(Release());
}

void Descriptor::Reset() {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  ENSURE(setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
  Close();
}

Pair Connect(Family family, int buffer_bytes) {
  if (family == Family::kUnix) {
    std::array<int, 2> fds{};
    ENSURE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) == 0);
    for (const int fd : fds) BoundBuffers(fd, buffer_bytes);
    return {Descriptor(fds[0]), Descriptor(fds[1])};
  }
  std::uint16_t port = 0;
  const Descriptor listener = Listen(&port);
  BoundBuffers(listener.get(), buffer_bytes);  // Accepted sockets inherit them.
  Descriptor theirs(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  BoundBuffers(theirs.get(), buffer_bytes);
  const sockaddr_in address = Loopback(port);
  ENSURE(connect(theirs.get(), Generic(&address), sizeof address) == 0);
  Descriptor ours(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ENSURE(ours.get() >= 0);
  const int no_delay = 1;
  for (const int fd : {ours.get(), theirs.get()}) {
    ENSURE(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof no_delay) == 0);
  }
  return {std::move(ours), std::move(theirs)};
}

Descriptor Listen(std::uint16_t* port, int backlog) {
  Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(0);
  ENSURE(bind(listener.get(), Generic(&address), sizeof address) == 0);
  ENSURE(listen(listener.get(), backlog) == 0);
  socklen_t address_bytes = sizeof address;
  ENSURE(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &address_bytes) == 0);
  *port = ntohs(address.sin_port);
  return listener;
}

Descriptor ConnectTo(std::uint16_t port) {
  Descriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Loopback(port);
  ENSURE(connect(connection.get(), Generic(&address), sizeof address) == 0);
  return connection;
}

void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    ENSURE(written > 0);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string ReadBytes(int fd, std::size_t bytes) {
  std::string all(bytes, '\0');
  std::size_t filled = 0;
  while (filled < bytes) {
    const ssize_t got = recv(fd, all.data() + filled, bytes - filled, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  all.resize(filled);
  return all;
}

std::string ReadToEnd(int fd) {
  std::string all;
  for (;;) {
    const std::string more = ReadBytes(fd, 65536);
    all += more;
    if (more.size() < 65536) return all;
  }
}

char PatternByte(std::uint64_t seed, std::uint64_t offset) {
  std::uint64_t mixed = (offset + 1) * 0x9e3779b97f4a7c15 + seed * 0xd1b54a32d192ed03;
  mixed ^= mixed >> 29;
  mixed *= 0xbf58476d1ce4e5b9;
  return static_cast<char>(mixed >> 56);
}

std::string Pattern(std::uint64_t seed, std::uint64_t offset, std::size_t bytes) {
  std::string pattern(bytes, '\0');
  for (std::size_t index = 0; index < bytes; ++index) {
    pattern[index] = PatternByte(seed, offset + index);
  }
  return pattern;
}

std::size_t FindDifference(std::uint64_t seed, std::uint64_t offset, std::span<const char> bytes) {
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    if (bytes[index] != PatternByte(seed, offset + index)) return index;
  }
  return std::string::npos;
}

coro::Task<> ReceiveToEnd(uring::Ring* ring, int fd, Received* received) {
  uring::Receiver receiver(ring, fd);
  receiver.Start();
  for (;;) {
    while (!receiver.has_data() && !receiver.has_ended()) co_await receiver.Wait();
    if (!receiver.has_data()) break;
    const std::span<const char> front = receiver.Front();
    received->bytes.append(front.data(), front.size());
    receiver.Pop();
  }
  received->has_ended = true;
  received->end_result = receiver.end_result();
  receiver.Stop();
  while (receiver.in_flight()) co_await receiver.Wait();
}

}  // namespace uring_test
