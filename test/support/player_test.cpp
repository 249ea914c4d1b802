#include "test/support/player.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "test/support/failure.h"
#include "test/support/socket_handle.h"

namespace {

using support::Failure;
using support::Play;
using support::Way;
using Answers = std::map<std::string, std::string>;

// A server of a few lines: each request has one fixed answer or none, and counts as a cmd_get.
// "close" closes, and "last ..." does so after its answer.
class FakeServer {
 public:
  explicit FakeServer(Answers answers) : answers_(std::move(answers)) {
    std::string directory = "/tmp/ringcached-test-XXXXXX";
    REQUIRE(mkdtemp(directory.data()) != nullptr);
    endpoint_.unix_path = directory + "/socket";
    listener_ = support::SocketHandle(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, endpoint_.unix_path.data(), endpoint_.unix_path.size());
    REQUIRE(bind(listener_.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
            0);
    REQUIRE(listen(listener_.fd(), 16) == 0);
    accepting_ = std::thread([this] { Accept(); });
  }
  ~FakeServer() {
    shutdown(listener_.fd(), SHUT_RDWR);
    accepting_.join();
    for (std::thread& serving : serving_) serving.join();
    std::filesystem::remove_all(std::filesystem::path(endpoint_.unix_path).parent_path());
  }

  [[nodiscard]] const support::Endpoint& endpoint() const { return endpoint_; }
  [[nodiscard]] ssize_t largest_read_bytes() const { return largest_read_bytes_; }

 private:
  void Accept() {
    for (int fd = -1; (fd = accept(listener_.fd(), nullptr, nullptr)) >= 0;) {
      serving_.emplace_back([this, fd] { Serve(support::SocketHandle(fd)); });
    }
  }

  void Serve(support::SocketHandle socket) {
    std::string received;
    char room[4096];
    for (ssize_t bytes = 0; (bytes = recv(socket.fd(), room, sizeof(room), 0)) > 0;) {
      received.append(room, static_cast<std::size_t>(bytes));
      for (std::size_t end = 0; (end = received.find("\r\n")) != std::string::npos;) {
        const std::string line = received.substr(0, end);
        received.erase(0, end + 2);
        if (line == "close") return;
        if (line == "get a") largest_read_bytes_ = std::max(largest_read_bytes_.load(), bytes);
        const std::string answer = Answer(line);
        send(socket.fd(), answer.data(), answer.size(), MSG_NOSIGNAL);
        if (line.starts_with("last ")) return;
      }
    }
  }

  std::string Answer(const std::string& line) {
    if (line == "version") return "VERSION 1\r\n";
    if (line == "stats") return "STAT cmd_get " + std::to_string(count_) + "\r\nEND\r\n";
    ++count_;
    const auto found = answers_.find(line);
    return found == answers_.end() ? "" : found->second;
  }

  Answers answers_;
  support::Endpoint endpoint_;
  support::SocketHandle listener_;
  std::atomic<int> count_ = 0;
  std::atomic<ssize_t> largest_read_bytes_ = 0;
  std::vector<std::thread> serving_;
  std::thread accepting_;
};

std::string WhyWrong(const FakeServer& server, std::string_view text, Way way) {
  try {
    Play(support::ParseTranscript("file.txt", text), server.endpoint(), way);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "right";
}

TEST_CASE("a conversation that goes as written is right in every way") {
  const FakeServer server(
      Answers{{"get a", "VALUE a 0 1 77\r\nx\r\nEND\r\n"}, {"cas 77", "STORED\r\n"}});
  for (const Way way : support::kWays) {
    CAPTURE(support::NameOf(way));
    CHECK(WhyWrong(
              server,
              "> get a\n= VALUE a 0 1 {id}\n...\n< END\n> cas \\{id}\n< STORED\n@ other\n> get a\n"
              "<< VALUE a 0 1 77\\r\\nx\\r\\nEND\\r\\n\n> close\n< close\n+ cmd_get 3\n",
              way) == "right");
  }
}

TEST_CASE("what is answered otherwise is told with file, line, what was sent and what came") {
  const FakeServer server(Answers{{"get a", "VALUE a 0 1\r\nx\r\nEND\r\n"},
                                  {"get b", "END\r\n"},
                                  {"last get", "FOO\r\nEND\r\n"}});
  for (const Way way : support::kWays) {
    CAPTURE(support::NameOf(way));
    const std::string why =
        WhyWrong(server, "> get b\n< END\n> get a\n< VALUE a 0 2\n< xx\n< END\n", way);
    CHECK(why.starts_with("file.txt:4: played " + std::string(support::NameOf(way))));
    CHECK(why.find("sent:     get a\\r\\n (line 3)") != std::string::npos);
    CHECK(why.find("expected: VALUE a 0 2\\r\\n") != std::string::npos);
    CHECK(why.find("got:      VALUE a 0 1\\r\\nx\\r\\nEND\\r\\n") != std::string::npos);
    CHECK(WhyWrong(server, "> get a\n= VALUE a 0 [2-9]\n", way).starts_with("file.txt:2: "));
    CHECK(WhyWrong(server, "> last get\n...\n< FIN\n", way).starts_with("file.txt:3: "));
    CHECK(WhyWrong(server, "> get a\n< close\n", way).starts_with("file.txt:2: "));
    CHECK(WhyWrong(server, "> close\n< END\n", way).starts_with("file.txt:2: "));
  }
}

TEST_CASE("an answer nobody waits for is found") {
  const FakeServer server(Answers{{"get a", "END\r\n\r\n"}, {"get b", "END\r\n"}});
  for (const Way way : support::kWays) {
    CAPTURE(support::NameOf(way));
    CHECK(WhyWrong(server, "> get a\n< END\n", way).find("in step") != std::string::npos);
    CHECK(WhyWrong(server, "> get b\n", way).find("in step") != std::string::npos);
    CHECK(WhyWrong(server, "> get b\n< END\n", way) == "right");
  }
}

TEST_CASE("counters that grow otherwise are told") {
  const FakeServer server(Answers{{"get a", "END\r\n"}});
  const std::string why = WhyWrong(server, "> get a\n< END\n+ cmd_get 2\n", Way::kLineByLine);
  CHECK(why.find("cmd_get 1 (not 2)") != std::string::npos);
  CHECK(WhyWrong(server, "> get a\n< END\n+ cmd_put 0\n", Way::kLineByLine) ==
        "stats has no cmd_put");
}

TEST_CASE("values that must differ are compared") {
  const FakeServer server(Answers{{"get a", "1\r\n"}, {"get b", "1\r\n"}, {"get c", "2\r\n"}});
  CHECK(WhyWrong(server, "> get a\n= {a}\n> get c\n= {c}\n% differ a c\n", Way::kOnePacket) ==
        "right");
  CHECK(WhyWrong(server, "> get a\n= {a}\n> get b\n= {b}\n% differ a b\n", Way::kOnePacket)
            .starts_with("file.txt:5: "));
}

TEST_CASE("byte by byte the server reads single bytes, in one packet all at once") {
  constexpr std::string_view kText = "> get a\n< END\n> get a\n< END\n";
  const FakeServer slow(Answers{{"get a", "END\r\n"}});
  CHECK(WhyWrong(slow, kText, Way::kByteByByte) == "right");
  CHECK(slow.largest_read_bytes() == 1);
  const FakeServer whole(Answers{{"get a", "END\r\n"}});
  CHECK(WhyWrong(whole, kText, Way::kLineByLine) == "right");
  CHECK(whole.largest_read_bytes() == 7);
  const FakeServer packet(Answers{{"get a", "END\r\n"}});
  CHECK(WhyWrong(packet, kText, Way::kOnePacket) == "right");
  CHECK(packet.largest_read_bytes() == 14);
}

}  // namespace
