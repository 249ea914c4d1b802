// 100,000 requests of every kind on one connection, sent without waiting for answers.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "test/server/model.h"
#include "test/support/bytes.h"
#include "test/support/client.h"
#include "test/support/failure.h"
#include "test/support/server_process.h"

namespace {

using server_test::Exchange;
using server_test::Model;
using support::Client;
using support::ServerProcess;

constexpr int kRequestCount = 100'000;

std::uint64_t Seed() {
  const char* text = std::getenv("RINGCACHED_TEST_SEED");
  return text == nullptr ? std::random_device{}() : std::strtoull(text, nullptr, 10);
}

std::vector<Exchange> MakeUp(std::uint64_t seed) {
  // memcached's flush_all misses items that were counted up in place, once they are some seconds
  // old.
  Model model(seed, !support::IsAgainstMemcached());
  std::vector<Exchange> exchanges;
  for (int i = 0; i < kRequestCount; ++i) exchanges.push_back(model.Next());
  exchanges.push_back({.request = "get the-end\r\n", .answer = "END\r\n"});
  return exchanges;
}

// Compares one answer after the other, and tells the first that is wrong.
void CheckAnswers(Client* client, const std::vector<Exchange>& exchanges) {
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    const Exchange& exchange = exchanges[i];
    const std::string got = client->Receive(exchange.answer.size());
    if (got == exchange.answer) continue;
    FAIL(fmt::format("request {}: {}\n  expected: {}\n  got:      {}", i,
                     support::Show(exchange.request), support::Show(exchange.answer),
                     support::Show(got + std::string(client->buffered().substr(0, 200)))));
  }
  CHECK(client->buffered().empty());
}

TEST_CASE("100000 mixed requests sent at once are answered right") {
  const std::uint64_t seed = Seed();
  MESSAGE("RINGCACHED_TEST_SEED=", seed);
  const std::vector<Exchange> exchanges = MakeUp(seed);
  std::string requests;
  for (const Exchange& exchange : exchanges) requests += exchange.request;
  ServerProcess server;
  Client client(server.endpoint());
  REQUIRE(client.SendWhileReceiving(requests));
  CheckAnswers(&client, exchanges);
}

TEST_CASE("100000 mixed requests cut anywhere are answered right") {
  const std::uint64_t seed = Seed();
  MESSAGE("RINGCACHED_TEST_SEED=", seed);
  const std::vector<Exchange> exchanges = MakeUp(seed);
  std::string requests;
  for (const Exchange& exchange : exchanges) requests += exchange.request;
  ServerProcess server({.transport = support::Transport::kUnix, .flags = {}});
  Client client(server.endpoint());
  std::mt19937_64 random(seed);
  for (std::string_view rest = requests; !rest.empty();) {
    const std::string_view piece = rest.substr(0, 1 + random() % 40'000);
    REQUIRE(client.SendWhileReceiving(piece));
    client.AwaitTaken(support::kWaitMax);
    rest.remove_prefix(piece.size());
  }
  CheckAnswers(&client, exchanges);
}

}  // namespace
