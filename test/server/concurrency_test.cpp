// Several clients at the same keys at the same time.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "test/support/client.h"
#include "test/support/failure.h"
#include "test/support/server_process.h"

namespace {

using support::Client;
using support::ServerProcess;

constexpr int kClientCount = 8;

// Runs act(client, index) in a thread for each client; throws what one of them threw.
template <typename Act>
void AtOnce(const ServerProcess& server, Act act) {
  std::vector<std::string> failures(kClientCount);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kClientCount; ++i) {
      threads.emplace_back([&, i] {
        try {
          Client client(server.endpoint());
          act(&client, i);
        } catch (const support::Failure& failure) {
          failures[static_cast<std::size_t>(i)] = failure.what();
        }
      });
    }
  }
  for (const std::string& failure : failures) {
    if (!failure.empty()) throw support::Failure(failure);
  }
}

std::string Ask(Client* client, std::string_view request) {
  client->Send(request);
  return client->ReceiveLine();
}

TEST_CASE("no increment is lost") {
  ServerProcess server({.flags = {"-t", "4"}});
  Client client(server.endpoint());
  REQUIRE(Ask(&client, "set n 0 0 1\r\n0\r\n") == "STORED\r\n");
  AtOnce(server, [](Client* one, int) {
    for (int i = 0; i < 500; ++i) one->Send("incr n 1\r\n");
    for (int i = 0; i < 500; ++i) one->ReceiveLine();
  });
  CHECK(Ask(&client, "incr n 0\r\n") == fmt::format("{}\r\n", kClientCount * 500));
}

TEST_CASE("of those who add a key at once, one stores it") {
  ServerProcess server({.flags = {"-t", "4"}});
  std::atomic<int> stored_count = 0;
  AtOnce(server, [&](Client* one, int index) {
    for (int i = 0; i < 500; ++i) {
      const std::string answer = Ask(one, fmt::format("add k{} 0 0 1\r\n{}\r\n", i, index));
      if (answer == "STORED\r\n") ++stored_count;
    }
  });
  CHECK(stored_count == 500);
}

TEST_CASE("of those who cas with one id, one stores: no step is lost or done twice") {
  ServerProcess server({.flags = {"-t", "4"}});
  Client client(server.endpoint());
  REQUIRE(Ask(&client, "set n 0 0 1\r\n0\r\n") == "STORED\r\n");
  AtOnce(server, [](Client* one, int) {
    for (int done = 0; done < 100;) {
      const std::string head = Ask(one, "gets n\r\n");
      const std::string id = head.substr(head.rfind(' ') + 1);
      const std::string value = one->ReceiveLine();
      one->ReceiveLine();
      const std::string next = std::to_string(std::stoi(value) + 1);
      const std::string request = fmt::format("cas n 0 0 {} {}{}\r\n", next.size(), id, next);
      if (Ask(one, request) == "STORED\r\n") ++done;
    }
  });
  CHECK(Ask(&client, "incr n 0\r\n") == fmt::format("{}\r\n", kClientCount * 100));
}

TEST_CASE("a value read while others write it is always a whole one") {
  ServerProcess server({.flags = {"-t", "4"}});
  AtOnce(server, [](Client* one, int index) {
    const std::string value(static_cast<std::size_t>(3'000 * (index + 1)),
                            static_cast<char>('a' + index));
    for (int i = 0; i < 300; ++i) {
      const std::string set = fmt::format("set k 0 0 {}\r\n{}\r\n", value.size(), value);
      if (Ask(one, set + "get k\r\n") != "STORED\r\n") throw support::Failure("not stored");
      const std::string head = one->ReceiveLine();
      const std::string got = one->ReceiveLine();
      one->ReceiveLine();
      if (got.find_first_not_of(got[0]) != got.size() - 2 ||
          head != fmt::format("VALUE k 0 {}\r\n", got.size() - 2) ||
          got.size() - 2 != static_cast<std::size_t>(3'000 * (got[0] - 'a' + 1))) {
        throw support::Failure("a torn value: " + head);
      }
    }
  });
}

}  // namespace
