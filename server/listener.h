// Listener: a listening socket, and the coroutine that accepts from it and places new clients.
//
// A new socket goes to the worker with the fewest connections. Above the connection limit it is
// told so and closed; when the system has no descriptor left, accepting rests for a moment and goes
// on.
//
// Owner: the Server. Threads: the main thread (control ring).
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "coro/task.h"
#include "server/settings.h"
#include "uring/acceptor.h"
#include "uring/ring.h"
#include "uring/timer.h"

namespace server {

class Server;

class Listener {
 public:
  // Takes over a listening socket.
  Listener(Server* server, uring::Ring* ring, int fd, std::string address);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  coro::Task<> AcceptLoop();
  // Stops accepting and ends AcceptLoop.
  void Stop();

  // As the user would write it: "127.0.0.1:11211", "[::1]:11211", "/run/x.sock".
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] std::uint16_t port() const;

 private:
  // As many clients as -c allows are there.
  [[nodiscard]] bool IsFull() const;
  void Place(int fd);
  void Refuse(int fd);

  Server* server_;
  uring::Acceptor acceptor_;
  uring::Timer pause_;
  std::string address_;
  bool is_stopping_ = false;
};

// An open listening socket and what to call it.
struct ListeningSocket {
  int fd;
  std::string address;
};

// Opens all listening sockets that the settings name. The error is one line for the user.
std::expected<std::vector<ListeningSocket>, std::string> OpenListeningSockets(
    const Settings& settings);

}  // namespace server
