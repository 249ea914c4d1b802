// lru_crawler metadump: a line of figures for each item, however many there are.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <regex>
#include <set>
#include <string>

#include "test/support/client.h"
#include "test/support/server_process.h"

namespace {

using support::Client;
using support::ServerProcess;

constexpr int kItemCount = 20'000;

void StoreMany(Client* client) {
  std::string requests;
  for (int i = 0; i < kItemCount; ++i) {
    requests += fmt::format("set key-{} 7 {} 3 noreply\r\nabc\r\n", i, i % 2 == 0 ? 0 : 1000);
  }
  client->Send(requests + "mn\r\n");
  REQUIRE(client->ReceiveLine() == "MN\r\n");
}

TEST_CASE("metadump lists every item that stays, with its figures") {
  ServerProcess server;
  Client client(server.endpoint());
  StoreMany(&client);
  client.Send("lru_crawler metadump all\r\n");
  REQUIRE(client.ReceiveLine() == "OK\r\n");
  const std::regex pattern(
      "key=(key-[0-9]+) exp=(-1|[0-9]{10}) la=[0-9]{10} cas=[0-9]+ fetch=no cls=[0-9]+ "
      "size=[0-9]+ flags=7 \n");
  std::set<std::string> keys;
  for (;;) {
    const std::string line = client.ReceiveLine();
    if (line == "END\r\n") break;
    std::smatch match;
    REQUIRE_MESSAGE(std::regex_match(line, match, pattern), line);
    keys.insert(match[1]);
  }
  CHECK(keys.size() == kItemCount);
  client.Send("mn\r\n");
  CHECK(client.ReceiveLine() == "MN\r\n");
}

TEST_CASE("a client that leaves in the middle of a dump takes nothing with it") {
  ServerProcess server;
  Client other(server.endpoint());
  StoreMany(&other);
  for (int i = 0; i < 20; ++i) {
    Client client(server.endpoint(), 4096);
    client.Send("lru_crawler metadump all\r\n");
    REQUIRE(client.ReceiveLine() == "OK\r\n");
    if (i % 2 == 0) client.Reset();
  }
  other.Send("mn\r\n");
  CHECK(other.ReceiveLine() == "MN\r\n");
}

TEST_CASE("sizes are counted in steps of 32 bytes when they are asked for") {
  ServerProcess server({.flags = {"-o", "track_sizes"}});
  Client client(server.endpoint());
  client.Send("set a 0 0 10 noreply\r\n0123456789\r\nset b 0 0 50 noreply\r\n" +
              std::string(50, 'x') + "\r\nstats sizes\r\n");
  CHECK(client.ReceiveLine() == "STAT 64 1\r\n");
  CHECK(client.ReceiveLine() == "STAT 96 1\r\n");
  CHECK(client.ReceiveLine() == "END\r\n");
}

}  // namespace
