// Many connections at once.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "test/support/client.h"
#include "test/support/server_process.h"
#include "test/support/stats_reader.h"

namespace {

using support::Client;
using support::Number;
using support::ServerProcess;
using support::Stats;

constexpr std::size_t kConnectionCount = 5'000;

std::string ValueOf(std::size_t index) { return fmt::format("value of {}", index); }

std::string SetOf(std::size_t index) {
  const std::string value = ValueOf(index);
  return fmt::format("set key{} {} 0 {}\r\n{}\r\n", index, index, value.size(), value);
}

// What "get" of that key answers.
std::string HitOf(std::size_t index) {
  const std::string value = ValueOf(index);
  return fmt::format("VALUE key{} {} {}\r\n{}\r\nEND\r\n", index, index, value.size(), value);
}

std::vector<Client> Connect(const ServerProcess& server) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  REQUIRE_MESSAGE(files.rlim_cur > kConnectionCount + 100, "needs ulimit -Hn of more than 5100");
  std::vector<Client> clients;
  for (std::size_t i = 0; i < kConnectionCount; ++i) clients.emplace_back(server.endpoint());
  return clients;
}

// Every client asks before any answer is read.
template <typename Request, typename Answer>
void AskAll(std::vector<Client>* clients, Request request, Answer answer) {
  for (std::size_t i = 0; i < clients->size(); ++i) (*clients)[i].Send(request(i));
  for (std::size_t i = 0; i < clients->size(); ++i) {
    const std::string expected = answer(i);
    REQUIRE((*clients)[i].Receive(expected.size()) == expected);
    REQUIRE((*clients)[i].buffered().empty());
  }
}

TEST_CASE("5000 connections at once are each answered right") {
  ServerProcess server({.flags = {"-c", "6000"}});
  Client observer(server.endpoint());
  const Stats before = support::ReadStats(&observer);
  std::vector<Client> clients = Connect(server);
  AskAll(&clients, SetOf, [](std::size_t) { return std::string("STORED\r\n"); });
  for (const std::size_t distance : {0UZ, 1UZ, kConnectionCount / 2}) {
    const auto other = [distance](std::size_t i) { return (i + distance) % kConnectionCount; };
    AskAll(
        &clients, [&](std::size_t i) { return fmt::format("get key{}\r\n", other(i)); },
        [&](std::size_t i) { return HitOf(other(i)); });
  }
  const Stats after = support::ReadStats(&observer);
  const auto grown = [&](const char* name) { return Number(after, name) - Number(before, name); };
  CHECK(Number(after, "curr_connections") > static_cast<std::int64_t>(kConnectionCount));
  CHECK(grown("total_connections") == kConnectionCount);
  CHECK(grown("rejected_connections") == 0);
  CHECK(grown("cmd_set") == kConnectionCount);
  CHECK(grown("get_hits") == 3 * kConnectionCount);
  CHECK(grown("get_misses") == 0);
}

TEST_CASE("connections that leave are no longer counted, however they leave") {
  ServerProcess server;
  Client observer(server.endpoint());
  constexpr std::size_t kCount = 300;
  std::vector<Client> clients;
  for (std::size_t i = 0; i < kCount; ++i) clients.emplace_back(server.endpoint());
  AskAll(&clients, SetOf, [](std::size_t) { return std::string("STORED\r\n"); });
  CHECK(Number(support::ReadStats(&observer), "curr_connections") > std::int64_t{kCount});
  for (std::size_t i = 0; i < kCount; ++i) {
    if (i % 3 == 0) clients[i].Reset();
    if (i % 3 == 1) clients[i].HalfClose();
    if (i % 3 == 2) clients[i].Send("quit\r\n");
    if (i % 3 != 0) CHECK(clients[i].ReceiveUntilClose().empty());
  }
  clients.clear();
  const support::Deadline deadline(support::kWaitMax);
  const auto count = [&] { return Number(support::ReadStats(&observer), "curr_connections"); };
  while (count() > 10 && !deadline.passed()) {
  }
  CHECK(count() <= 10);
}

}  // namespace
