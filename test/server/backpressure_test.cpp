// Clients that send much and read late, or never.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <string>
#include <thread>

#include "test/support/bytes.h"
#include "test/support/client.h"
#include "test/support/failure.h"
#include "test/support/server_process.h"

namespace {

using support::Client;
using support::ServerProcess;

std::string Repeated(std::string_view text, std::size_t count) {
  std::string repeated;
  repeated.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) repeated += text;
  return repeated;
}

std::string Set(std::string_view key, std::string_view value) {
  return fmt::format("set {} 0 0 {}\r\n{}\r\n", key, value.size(), value);
}

std::string Hit(std::string_view key, std::string_view value) {
  return fmt::format("VALUE {} 0 {}\r\n{}\r\nEND\r\n", key, value.size(), value);
}

void MustAnswer(Client* client, std::string_view request, std::string_view answer) {
  client->Send(request);
  REQUIRE(client->Receive(answer.size()) == answer);
}

std::size_t ResidentBytes(const ServerProcess& server) {
  std::ifstream status(fmt::format("/proc/{}/status", server.pid()));
  for (std::string word; status >> word;) {
    std::size_t kilobytes = 0;
    if (word == "VmRSS:" && status >> kilobytes) return kilobytes * 1024;
  }
  throw support::Failure("the server's memory cannot be read");
}

TEST_CASE("large answers read late, through a small buffer, come whole") {
  ServerProcess server;
  Client client(server.endpoint(), 4096);
  const std::string value = support::PatternBytes(1'000'000);
  MustAnswer(&client, Set("k", value), "STORED\r\n");
  client.Send(Repeated("get k\r\n", 40));
  Client other(server.endpoint());
  for (int i = 0; i < 100; ++i) MustAnswer(&other, "get none\r\n", "END\r\n");
  const std::string hit = Hit("k", value);
  for (int i = 0; i < 40; ++i) REQUIRE(client.Receive(hit.size()) == hit);
}

TEST_CASE("a client that sends 20000 sets and gets before it reads gets every answer") {
  ServerProcess server;
  Client client(server.endpoint());
  const std::string requests = Repeated(Set("k", "0123456789") + "get k\r\n", 20'000);
  std::jthread sender([&] { client.Send(requests); });
  Client other(server.endpoint());
  for (int i = 0; i < 100; ++i) MustAnswer(&other, "get none\r\n", "END\r\n");
  const std::string answer = "STORED\r\n" + Hit("k", "0123456789");
  for (int i = 0; i < 20'000; ++i) REQUIRE(client.Receive(answer.size()) == answer);
}

TEST_CASE("one item may be in 70000 unread answers and be replaced meanwhile") {
  ServerProcess server;
  Client client(server.endpoint(), 8192);
  const std::string value(64, 'v');
  MustAnswer(&client, Set("k", value), "STORED\r\n");
  std::jthread sender([&] { client.Send(Repeated("get k\r\n", 70'000)); });
  const std::string hit = Hit("k", value);
  for (int i = 0; i < 70'000; ++i) REQUIRE(client.Receive(hit.size()) == hit);
  sender.join();
  Client other(server.endpoint());
  CHECK(other.SendWhileReceiving("get" + Repeated(" k", 66'000) + "\r\n"));
  int hit_count = 0;
  while (other.ReceiveLine() != "END\r\n") {
    REQUIRE(other.ReceiveLine() == value + "\r\n");
    ++hit_count;
  }
  // memcached answers a miss when an item is in use about 60,000 times.
  CHECK(hit_count <= 66'000);
  CHECK(hit_count >= (support::IsAgainstMemcached() ? 50'000 : 66'000));
  MustAnswer(&other, Set("k", "new"), "STORED\r\n");
  MustAnswer(&other, "get k\r\n", Hit("k", "new"));
  MustAnswer(&other, "delete k\r\n", "DELETED\r\n");
  MustAnswer(&other, "get k\r\n", "END\r\n");
}

TEST_CASE("answers that nobody reads do not pile up in the server") {
  ServerProcess server;
  Client client(server.endpoint(), 4096);
  MustAnswer(&client, Set("k", support::PatternBytes(1'000'000)), "STORED\r\n");
  const std::size_t before_bytes = ResidentBytes(server);
  client.Send(Repeated("get k\r\n", 2'000));  // 2 GB of answers.
  Client other(server.endpoint());
  for (int i = 0; i < 1'000; ++i) MustAnswer(&other, "get none\r\n", "END\r\n");
  CHECK(ResidentBytes(server) < before_bytes + (std::size_t{64} << 20));
}

}  // namespace
