// Session: a client's requests, from bytes to answers, whatever brings the bytes.
//
// Run parses as many commands as have come, in batches whose keys are looked up together, carries
// them out, and writes their answers into the worker's reply, until input runs out, the reply is
// full, or it is somebody else's turn. It is an ordinary function: it knows no sockets and no
// coroutines, so a test can drive it.
//
// Nothing is allocated per command; a value that comes in parts takes a block from the frame pool.
//
// Owner: the connection. Threads: its worker's.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/dump.h"
#include "server/execute.h"
#include "server/input.h"
#include "server/limits.h"
#include "server/protocol/classic.h"
#include "server/protocol/command.h"
#include "server/reply.h"
#include "server/stats_request.h"

namespace server {

// Commands that are parsed together, so that their keys' cache lines are fetched together.
struct Batch {
  std::array<protocol::Command, kBatchMax> commands;
  std::array<cache::HashedKey, kBatchMax> keys;
  std::array<protocol::DecodedKey, kBatchMax> decoded_keys;
  // What to go back to when a command has to wait.
  std::array<Input::Mark, kBatchMax> marks;
  std::array<protocol::ClassicParser, kBatchMax> parsers;
};

// What a worker's sessions share. Owner: the worker.
struct SessionTools {
  cache::Cache* cache;
  Executor* executor;
  Reply* reply;
  Batch* batch;
  const Settings* settings;
};

class Session {
 public:
  // Why Run returned.
  enum class Progress : std::uint8_t {
    kGoesOn,  // Not returned.
    kNeedsInput,
    kReplyFull,   // Send, then go on.
    kYields,      // Its share of this turn is used up.
    kWantsStats,  // Answer TakeStatsRequest(), then go on.
    kWantsDump,   // Write dump_request() out, then go on.
    kShutsDown,   // Stop the server, and close.
    kCloses,      // Send, then close.
  };

  // `id` is for logs.
  Session(const SessionTools* tools, Input* input, int id);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Takes in and answers; the answers are in the worker's reply.
  Progress Run();

  // What made Run return kWantsStats.
  StatsRequest TakeStatsRequest() { return std::move(stats_request_); }
  // What made it return kWantsDump.
  [[nodiscard]] const DumpRequest& dump_request() const { return dump_request_; }
  [[nodiscard]] std::uint32_t last_command_s() const { return last_command_s_; }

 private:
  struct PendingValue;

  std::size_t Assemble(std::size_t count_max);
  protocol::Parsed Parse(protocol::Command* command, protocol::DecodedKey* room);
  bool TakeValue(protocol::Command* command);
  Progress ExecuteBatch(std::size_t count);
  void HashBatch(std::size_t count);
  void LogBatch(std::size_t count) const;
  Progress Follow(Action action, const protocol::Command& command);
  void BeginValue(const protocol::Command& command, const cache::HashedKey& key);
  bool ContinueValue();
  void TakeValueBytes(std::string_view bytes);
  void FinishValue();

  const SessionTools* tools_;
  Input* input_;
  int id_;
  std::uint32_t last_command_s_ = 0;
  // By the first byte of all: 0x80 is no letter.
  bool protocol_is_known_ = false;
  bool is_binary_ = false;
  std::size_t needed_bytes_ = 0;  // What the parser asked for; 0: up to a line end.
  protocol::ClassicParser parser_;
  std::unique_ptr<PendingValue> pending_;  // A value that has not come whole.
  StatsRequest stats_request_;
  DumpRequest dump_request_;
};

}  // namespace server
