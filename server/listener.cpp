#include "server/listener.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>

#include "server/limits.h"
#include "server/server.h"

namespace server {
namespace {

constexpr std::string_view kTooManyConnections = "ERROR Too many open connections\r\n";

bool IsShortage(std::int32_t error) {
  return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -ENOBUFS;
}

}  // namespace

Listener::Listener(Server* server, uring::Ring* ring, int fd, std::string address)
    : server_(server), acceptor_(ring, fd), pause_(ring), address_(std::move(address)) {}

Listener::~Listener() { close(acceptor_.fd()); }

coro::Task<> Listener::AcceptLoop() {
  stats::Block& block = server_->block();
  acceptor_.Start();
  while (!is_stopping_) {
    if (!acceptor_.has_news()) co_await acceptor_.Wait();
    while (!is_stopping_ && acceptor_.has_news()) {
      const bool has_room = server_->settings().refuses_fast || !IsFull();
      const std::int32_t news = has_room ? acceptor_.TakeNews() : -EMFILE;
      if (news >= 0) Place(news);
      if (!IsShortage(news)) continue;
      // Nothing can be accepted until something is closed; the clients wait in the backlog.
      block.listen_disabled_num.Add();
      acceptor_.Stop();
      pause_.Start(std::chrono::milliseconds(kAcceptPauseMilliseconds));
      co_await pause_.Wait();
      block.time_in_listen_disabled_us.Add(std::uint64_t{kAcceptPauseMilliseconds} * 1000);
    }
    if (!is_stopping_) acceptor_.Start();
  }
  acceptor_.Stop();
  while (acceptor_.in_flight()) co_await acceptor_.Wait();
}

bool Listener::IsFull() const {
  return server_->ConnectionCount() >= server_->settings().connections_max;
}

void Listener::Place(int fd) {
  stats::Block& block = server_->block();
  if (IsFull()) {
    block.rejected_connections.Add();
    return Refuse(fd);
  }
  block.total_connections.Add();
  server_->HandOver(fd);
}

void Listener::Refuse(int fd) {
  [[maybe_unused]] const ssize_t sent =
      send(fd, kTooManyConnections.data(), kTooManyConnections.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  close(fd);
}

void Listener::Stop() {
  is_stopping_ = true;
  pause_.Cancel();
  acceptor_.Nudge();
}

}  // namespace server
