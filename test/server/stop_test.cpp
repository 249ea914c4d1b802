// SIGTERM: the server ends well, whatever its clients are doing. The five seconds and the exit
// status are checked by ServerProcess.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "test/support/bytes.h"
#include "test/support/client.h"
#include "test/support/server_process.h"

namespace {

using support::Client;
using support::ServerProcess;

TEST_CASE("a server without clients ends when told") {
  ServerProcess server;
  CHECK_NOTHROW(server.Stop());
}

TEST_CASE("idle clients see the end of the stream") {
  ServerProcess server;
  std::vector<Client> clients;
  for (int i = 0; i < 50; ++i) {
    clients.emplace_back(server.endpoint());
    clients.back().Send("get a\r\n");
    CHECK(clients.back().Receive(5) == "END\r\n");
  }
  CHECK_NOTHROW(server.Stop());
  for (Client& client : clients) CHECK(client.ReceiveUntilClose().empty());
}

TEST_CASE("clients in the middle of something do not hold the server up") {
  ServerProcess server;
  Client half_line(server.endpoint());
  half_line.Send("get hal");
  Client half_value(server.endpoint());
  half_value.Send("set k 0 0 500000\r\n" + support::PatternBytes(250'000));
  Client never_reads(server.endpoint(), 4096);
  never_reads.Send("set big 0 0 1000000\r\n" + support::PatternBytes(1'000'000) + "\r\n");
  CHECK(never_reads.Receive(8) == "STORED\r\n");
  for (int i = 0; i < 100; ++i) never_reads.Send("get big\r\n");
  CHECK_NOTHROW(server.Stop());
}

}  // namespace
