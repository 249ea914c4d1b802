// ServerProcess: a server that a test started, on a free port of 127.0.0.1 or on a Unix socket of
// its own. It accepts connections when the constructor returns, and dies with the test.
//
// Which one: the one built beside the tests, or the program named by the environment variable
// RINGCACHED_SERVER (memcached works too). RINGCACHED_TEST_FLAGS adds flags to every start, for
// example "-t 16". Unless told otherwise a server has two threads.
//
// Owner: the test. Threads: one.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "test/support/client.h"
#include "test/support/port.h"
#include "test/support/socket_handle.h"

namespace support {

enum class Transport : std::uint8_t { kTcp, kUnix };

struct ServerOptions {
  Transport transport = Transport::kTcp;
  std::vector<std::string> flags;
};

// Whether the tests run against memcached and not against ringcached: the environment variable
// RINGCACHED_TEST_AGAINST is "memcached". What memcached is known to answer otherwise is then
// skipped.
bool IsAgainstMemcached();

// The program that the tests run against. Throws Failure when none is named.
std::string ServerPath();

class ServerProcess {
 public:
  // Throws Failure, with what the server printed, if it does not accept within kWaitMax.
  explicit ServerProcess(const ServerOptions& options = {});
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  // Stops it. A server that does not stop well fails the test case. When a test fails, the
  // server's output is printed.
  ~ServerProcess();

  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // What it has printed so far, on both outputs.
  [[nodiscard]] std::string Output() const;
  // SIGTERM; throws Failure, with the output, unless it exits with 0 within 5 s.
  void Stop();

 private:
  void Start(const std::vector<std::string>& command);
  void AwaitAccepting();
  // The wait status, if the process has ended. Reaps it.
  std::optional<int> Ended();
  [[noreturn]] void Fail(const std::string& what) const;

  std::optional<PortReservation> port_;
  std::string directory_;  // Of the Unix socket.
  Endpoint endpoint_;
  SocketHandle output_;  // An unnamed file.
  pid_t pid_ = -1;       // -1: ended, or never started.
};

}  // namespace support
