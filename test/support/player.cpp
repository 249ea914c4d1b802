#include "test/support/player.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <thread>

#include "test/support/bytes.h"
#include "test/support/failure.h"
#include "test/support/pattern.h"
#include "test/support/server_process.h"
#include "test/support/stats_reader.h"

namespace support {
namespace {

constexpr int kSkippedLinesMax = 10'000;
constexpr std::size_t kSingleBytes = 300;  // At both ends of a text that is sent byte by byte.
constexpr std::chrono::milliseconds kTakenMax{5'000};

// An answer that is awaited, and what had been sent before it.
struct Awaited {
  const Step* step;
  std::string sent;
};

struct Connection {
  explicit Connection(const Endpoint& endpoint) : client(endpoint) {}

  Client client;
  std::string unsent;
  std::deque<Awaited> awaited;
  std::string last_sent = "nothing";
  bool is_half_closed = false;
  bool has_ended = false;  // The server closed, or we reset.
};

class Player {
 public:
  Player(const Transcript& transcript, const Endpoint& endpoint, Way way)
      : transcript_(transcript), endpoint_(endpoint), way_(way), observer_(endpoint) {}

  void Run() {
    const Stats before = ReadStats(&observer_);
    Use("main");
    for (const Step& step : transcript_.steps) Do(step);
    Settle();
    for (auto& [name, connection] : connections_) CheckInStep(name, &connection);
    CheckCounters(before);
  }

 private:
  void Do(const Step& step) {
    step_ = &step;
    switch (step.kind) {
      case StepKind::kSend:
        return Send(step);
      case StepKind::kExpect:
      case StepKind::kExpectPattern:
      case StepKind::kExpectClose:
        return Expect(step);
      default:
        break;
    }
    Settle();
    step_ = &step;
    switch (step.kind) {
      case StepKind::kUse:
        return Use(step.words[0]);
      case StepKind::kWait:
        return std::this_thread::sleep_for(step.pause);
      case StepKind::kHalfClose:
        connection_->client.HalfClose();
        connection_->is_half_closed = true;
        return;
      case StepKind::kReset:
        connection_->client.Reset();
        connection_->has_ended = true;
        return;
      case StepKind::kDiffer:
        if (variables_.at(step.words[0]) == variables_.at(step.words[1])) {
          Fail("", "two different values", "twice " + variables_.at(step.words[0]));
        }
        return;
      default:
        return;
    }
  }

  void Use(const std::string& name) {
    connection_ = &connections_.try_emplace(name, endpoint_).first->second;
  }

  // -- Sending.
  void Send(const Step& step) {
    if (connection_->has_ended) Fail(connection_->last_sent, "an open connection", "a closed one");
    for (const std::string& name : step.text.OpenVariables()) {
      if (!variables_.contains(name)) Settle();
    }
    const std::string bytes = step.text.Expand(variables_);
    connection_->last_sent = fmt::format("{} (line {})", Show(bytes), step.line);
    if (way_ == Way::kOnePacket) {
      connection_->unsent += bytes;
    } else if (way_ == Way::kByteByByte) {
      DeliverBytes(bytes);
    } else {
      Deliver(bytes);
    }
  }

  // A server that closes early has not taken everything; what it answered is compared later.
  bool Deliver(std::string_view bytes) { return connection_->client.SendWhileReceiving(bytes); }

  void DeliverBytes(std::string_view bytes) {
    std::size_t piece_bytes = 1;
    const std::size_t all_bytes = bytes.size();
    while (!bytes.empty()) {
      const std::size_t done_bytes = all_bytes - bytes.size();
      const bool is_middle = done_bytes >= kSingleBytes && bytes.size() > kSingleBytes;
      piece_bytes = is_middle ? piece_bytes * 3 % 65'521 : 1;  // The powers of 3, over a prime.
      const std::size_t room_bytes = is_middle ? bytes.size() - kSingleBytes : 1;
      const std::string_view piece = bytes.substr(0, std::min(piece_bytes, room_bytes));
      if (!Deliver(piece)) return;
      connection_->client.AwaitTaken(kTakenMax);
      bytes.remove_prefix(piece.size());
    }
  }

  // -- Receiving.
  void Expect(const Step& step) {
    connection_->awaited.push_back({.step = &step, .sent = connection_->last_sent});
    if (way_ != Way::kOnePacket) Settle();
  }

  // Sends what is left to send, and awaits all answers.
  void Settle() {
    Deliver(std::exchange(connection_->unsent, {}));
    while (!connection_->awaited.empty()) {
      const Awaited awaited = std::move(connection_->awaited.front());
      connection_->awaited.pop_front();
      step_ = awaited.step;
      Check(*awaited.step, awaited.sent);
    }
  }

  void Check(const Step& step, const std::string& sent) {
    if (step.kind == StepKind::kExpectClose) return CheckClose(sent);
    if (step.skips_lines || step.kind == StepKind::kExpectPattern) return CheckLines(step, sent);
    CheckBytes(step.text.Expand(variables_), sent);
  }

  void CheckBytes(const std::string& expected, const std::string& sent) {
    Client& client = connection_->client;
    const Deadline deadline(kWaitMax);
    std::size_t right_bytes = 0;
    for (;;) {
      const std::string_view rest = std::string_view(expected).substr(right_bytes);
      const std::string_view got = client.buffered().substr(0, rest.size());
      if (!rest.starts_with(got)) FailAfter(right_bytes, sent, rest, Got());
      right_bytes += got.size();
      client.Consume(got.size());
      if (right_bytes == expected.size()) return;
      const Client::More more = client.ReceiveMore(deadline);
      if (more == Client::More::kEnd) FailAfter(right_bytes, sent, rest, "the end");
      if (more == Client::More::kLate) FailAfter(right_bytes, sent, rest, "nothing more");
    }
  }

  void CheckLines(const Step& step, const std::string& sent) {
    const bool is_pattern = step.kind == StepKind::kExpectPattern;
    const std::string expected = is_pattern ? step.words[0] : step.text.Expand(variables_);
    const std::string shown = is_pattern ? "a line like " + expected : Show(expected);
    for (int line_count = 0; line_count < kSkippedLinesMax; ++line_count) {
      const std::string line = NextLine(sent, shown);
      const bool is_it = is_pattern ? IsLike(expected, line) : line == expected;
      if (is_it) return;
      if (!step.skips_lines) Fail(sent, shown, Show(line) + Got());
    }
    Fail(sent, shown, fmt::format("{} other lines", kSkippedLinesMax));
  }

  bool IsLike(const std::string& pattern, const std::string& line) {
    return line.ends_with("\r\n") && Matches(pattern, line.substr(0, line.size() - 2), &variables_);
  }

  std::string NextLine(const std::string& sent, const std::string& expected) {
    try {
      return connection_->client.ReceiveLine();
    } catch (const Failure& failure) {
      Fail(sent, expected, failure.what());
    }
  }

  void CheckClose(const std::string& sent) {
    Client& client = connection_->client;
    connection_->has_ended = true;
    const Client::More more =
        client.buffered().empty() ? client.ReceiveMore(Deadline(kWaitMax)) : Client::More::kBytes;
    if (more == Client::More::kBytes) Fail(sent, "the end of the stream", Got());
    if (more == Client::More::kLate) Fail(sent, "the end of the stream", "nothing");
  }

  // What has come, with a moment's grace for the rest of it.
  std::string Got() {
    Client& client = connection_->client;
    const Deadline grace(std::chrono::milliseconds(100));
    while (client.buffered().size() < 1000 && client.ReceiveMore(grace) == Client::More::kBytes) {
    }
    return client.buffered().empty() ? "nothing" : Show(client.buffered());
  }

  // -- The end.
  void CheckInStep(const std::string& name, Connection* connection) {
    if (connection->has_ended) return;
    connection_ = connection;
    const std::string sent = fmt::format("version\\r\\n (to see whether '{}' is in step)", name);
    if (connection->is_half_closed) return CheckClose("the half close");
    if (!Deliver("version\r\n")) Fail(sent, "an answer", "the end of the stream");
    const std::string line = NextLine(sent, "a line like VERSION .*");
    if (!line.starts_with("VERSION ") || !connection->client.buffered().empty()) {
      Fail(sent, "a line like VERSION .*", Show(line) + Got());
    }
  }

  void CheckCounters(const Stats& before) {
    if (transcript_.counters.empty()) return;
    const Stats after = ReadStats(&observer_);
    std::string wrong;
    for (const auto& [name, growth] : transcript_.counters) {
      const std::int64_t grown = Number(after, name) - Number(before, name);
      if (grown != growth) wrong += fmt::format(" {} {} (not {})", name, grown, growth);
    }
    if (wrong.empty()) return;
    throw Failure(fmt::format("{}: played {}: counters grew otherwise than written:{}",
                              transcript_.path, NameOf(way_), wrong));
  }

  [[noreturn]] void FailAfter(std::size_t right_bytes, const std::string& sent,
                              std::string_view expected, const std::string& got) const {
    const std::string after = right_bytes == 0 ? "" : fmt::format("{} right bytes, ", right_bytes);
    Fail(sent, after + Show(expected), after + got);
  }

  [[noreturn]] void Fail(const std::string& sent, const std::string& expected,
                         const std::string& got) const {
    throw Failure(fmt::format("{}:{}: played {}\n  sent:     {}\n  expected: {}\n  got:      {}",
                              transcript_.path, step_->line, NameOf(way_), sent, expected, got));
  }

  const Transcript& transcript_;
  const Endpoint endpoint_;
  const Way way_;
  Client observer_;  // Asks for the counters; no part of the conversation.
  std::map<std::string, Connection> connections_;
  Connection* connection_ = nullptr;
  const Step* step_ = nullptr;  // Where a failure is.
  Variables variables_;
};

}  // namespace

const char* NameOf(Way way) {
  switch (way) {
    case Way::kLineByLine:
      return "line by line";
    case Way::kByteByByte:
      return "byte by byte";
    case Way::kOnePacket:
      return "in one packet";
  }
  return "?";
}

void Play(const Transcript& transcript, const Endpoint& endpoint, Way way) {
  Player(transcript, endpoint, way).Run();
}

void PlayOnFreshServer(const Transcript& transcript, Way way) {
  const Transport transport = way == Way::kByteByByte ? Transport::kUnix : Transport::kTcp;
  ServerProcess server({.transport = transport, .flags = transcript.flags});
  Play(transcript, server.endpoint(), way);
  server.Stop();
}

}  // namespace support
