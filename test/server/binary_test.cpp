// What binary transcripts cannot say: CAS, which is not known before, and statistics.
#include "server/protocol/binary.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "test/support/client.h"
#include "test/support/server_process.h"

namespace {

using protocol::BinaryStatus;
using support::Client;
using support::ServerProcess;

constexpr std::uint8_t kGet = 0x00;
constexpr std::uint8_t kSet = 0x01;
constexpr std::uint8_t kAdd = 0x02;
constexpr std::uint8_t kDelete = 0x04;
constexpr std::uint8_t kIncrement = 0x05;
constexpr std::uint8_t kAppend = 0x0e;
constexpr std::uint8_t kStat = 0x10;
constexpr std::string_view kNoFlags("\0\0\0\0\0\0\0\0", 8);
constexpr std::string_view kByOne("\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0", 20);

struct Request {
  std::uint8_t opcode;
  std::string_view key;
  std::string_view extras = "";
  std::string_view value = "";
  std::uint64_t cas = 0;
};

struct Answer {
  BinaryStatus status;
  std::uint64_t cas;
  std::string key;
  std::string body;  // Behind the key.
};

std::string Frame(const Request& request) {
  std::string frame(protocol::kBinaryHeaderBytes, '\0');
  frame[0] = protocol::kBinaryRequestMagic;
  frame[1] = static_cast<char>(request.opcode);
  frame[4] = static_cast<char>(request.extras.size());
  const std::size_t body = request.extras.size() + request.key.size() + request.value.size();
  protocol::WriteBigEndian(frame.data() + 2, static_cast<std::uint16_t>(request.key.size()));
  protocol::WriteBigEndian(frame.data() + 8, static_cast<std::uint32_t>(body));
  protocol::WriteBigEndian(frame.data() + 16, request.cas);
  return frame.append(request.extras).append(request.key).append(request.value);
}

Answer ReceiveAnswer(Client* client) {
  const std::string header = client->Receive(protocol::kBinaryHeaderBytes);
  REQUIRE(header[0] == protocol::kBinaryAnswerMagic);
  const auto key_bytes = protocol::ReadBigEndian<std::uint16_t>(header.data() + 2);
  const auto body_bytes = protocol::ReadBigEndian<std::uint32_t>(header.data() + 8);
  const std::string body = client->Receive(body_bytes);
  const auto extras_bytes = static_cast<std::uint8_t>(header[4]);
  return {.status =
              static_cast<BinaryStatus>(protocol::ReadBigEndian<std::uint16_t>(header.data() + 6)),
          .cas = protocol::ReadBigEndian<std::uint64_t>(header.data() + 16),
          .key = body.substr(extras_bytes, key_bytes),
          .body = body.substr(extras_bytes + key_bytes)};
}

Answer Ask(Client* client, const Request& request) {
  client->Send(Frame(request));
  return ReceiveAnswer(client);
}

std::map<std::string, std::string> AskStats(Client* client, std::string_view group) {
  client->Send(Frame({.opcode = kStat, .key = group}));
  std::map<std::string, std::string> stats;
  for (;;) {
    const Answer answer = ReceiveAnswer(client);
    REQUIRE(answer.status == BinaryStatus::kOk);
    if (answer.key.empty()) return stats;
    stats[answer.key] = answer.body;
  }
}

TEST_CASE("a binary CAS must be the item's, in every command that takes one") {
  ServerProcess server;
  Client client(server.endpoint());
  const Answer stored =
      Ask(&client, {.opcode = kSet, .key = "k", .extras = kNoFlags, .value = "1"});
  CHECK(stored.status == BinaryStatus::kOk);
  CHECK(stored.cas != 0);
  CHECK(Ask(&client, {.opcode = kGet, .key = "k"}).cas == stored.cas);
  for (const std::uint8_t opcode : {kSet, kAppend, kIncrement, kDelete}) {
    CAPTURE(opcode);
    const std::string_view extras = opcode == kSet         ? kNoFlags
                                    : opcode == kIncrement ? kByOne
                                                           : std::string_view();
    const std::string_view value = opcode == kSet || opcode == kAppend ? "1" : "";
    const std::uint64_t cas = Ask(&client, {.opcode = kGet, .key = "k"}).cas;
    const Request wrong = {
        .opcode = opcode, .key = "k", .extras = extras, .value = value, .cas = cas + 1000};
    CHECK(Ask(&client, wrong).status == BinaryStatus::kExists);
    Request right = wrong;
    right.cas = cas;
    const Answer answer = Ask(&client, right);
    CHECK(answer.status == BinaryStatus::kOk);
    if (opcode != kDelete) CHECK(answer.cas > cas);
  }
  const Request missing = {
      .opcode = kSet, .key = "none", .extras = kNoFlags, .value = "1", .cas = 5};
  CHECK(Ask(&client, missing).status == BinaryStatus::kNotFound);
  Request added = missing;
  added.opcode = kAdd;
  CHECK(Ask(&client, added).status == BinaryStatus::kNotFound);
}

TEST_CASE("a value that is too large is skipped and the old one is gone") {
  ServerProcess server;
  Client client(server.endpoint());
  Ask(&client, {.opcode = kSet, .key = "k", .extras = kNoFlags, .value = "1"});
  const std::string large(1'100'000, 'x');
  const Request request = {.opcode = kSet, .key = "k", .extras = kNoFlags, .value = large};
  CHECK(Ask(&client, request).status == BinaryStatus::kTooLarge);
  CHECK(Ask(&client, {.opcode = kGet, .key = "k"}).status == BinaryStatus::kNotFound);
}

TEST_CASE("binary statistics are those of the classic protocol, a frame each") {
  ServerProcess server;
  Client client(server.endpoint());
  Ask(&client, {.opcode = kSet, .key = "k", .extras = kNoFlags, .value = "1"});
  Ask(&client, {.opcode = kGet, .key = "k"});
  Ask(&client, {.opcode = kGet, .key = "none"});
  auto stats = AskStats(&client, "");
  CHECK(stats["cmd_set"] == "1");
  CHECK(stats["get_hits"] == "1");
  CHECK(stats["get_misses"] == "1");
  CHECK(AskStats(&client, "settings")["maxbytes"] == "67108864");
  CHECK(AskStats(&client, "reset").empty());
  CHECK(AskStats(&client, "")["cmd_set"] == "0");
  CHECK(Ask(&client, {.opcode = kStat, .key = "none"}).status == BinaryStatus::kNotFound);
  CHECK(AskStats(&client, "detail on").empty());
  Ask(&client, {.opcode = kGet, .key = "a:1"});
  CHECK(AskStats(&client, "detail dump")["detailed"] ==
        "PREFIX a get 1 hit 0 set 0 del 0\r\nEND\r\n");
  CHECK(Ask(&client, {.opcode = kStat, .key = "detail x"}).status == BinaryStatus::kNotFound);
}

TEST_CASE("binary statistics that walk over the items keep the connection in step") {
  ServerProcess server({.flags = {"-o", "track_sizes"}});
  Client client(server.endpoint());
  Ask(&client, {.opcode = kSet, .key = "k", .extras = kNoFlags, .value = "1"});
  const auto sizes = AskStats(&client, "sizes");
  CHECK(sizes == std::map<std::string, std::string>{{"32", "1"}});
  const Request dump = {.opcode = kStat, .key = "cachedump 1 0"};
  CHECK(Ask(&client, dump).status == BinaryStatus::kNotFound);
  CHECK(Ask(&client, {.opcode = kGet, .key = "k"}).status == BinaryStatus::kOk);
}

TEST_CASE("with -B binary a text request is the end") {
  ServerProcess server({.flags = {"-B", "binary"}});
  Client text(server.endpoint());
  text.Send("get k\r\n");
  CHECK(text.ReceiveUntilClose().empty());
  Client binary(server.endpoint());
  CHECK(Ask(&binary, {.opcode = kGet, .key = "k"}).status == BinaryStatus::kNotFound);
}

}  // namespace
