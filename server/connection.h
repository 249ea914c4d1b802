// Connection: a client's socket, from its first byte to its close.
//
// Serve is the coroutine; it only receives and sends. All between is Run, an ordinary function: it
// parses as many commands as have come, in batches whose keys are looked up together, and writes
// their answers into the worker's reply, until input runs out, the reply is full, or it is another
// connection's turn.
//
// Nothing is allocated for an idle connection but its coroutine frame, and nothing per command.
//
// Owner: the Serve coroutine's frame; listed by its worker. Threads: its worker's.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "coro/task.h"
#include "server/execute.h"
#include "server/input.h"
#include "server/limits.h"
#include "server/linked_list.h"
#include "server/protocol/classic.h"
#include "server/protocol/command.h"
#include "server/reply.h"
#include "uring/receiver.h"
#include "uring/sender.h"

namespace server {

class Worker;

// Commands that are parsed together, so that their keys' cache lines are fetched together. Worker's
// scratch.
struct Batch {
  std::array<protocol::Command, kBatchMax> commands;
  std::array<cache::HashedKey, kBatchMax> keys;
  // What to go back to when a command has to wait.
  std::array<Input::Mark, kBatchMax> marks;
  std::array<protocol::ClassicParser, kBatchMax> parsers;
};

class Connection {
 public:
  // Why Run returned.
  enum class Progress : std::uint8_t {
    kGoesOn,
    kNeedsInput,
    kReplyFull,   // Send, then go on.
    kYields,      // Its share of this turn is used up.
    kWantsStats,  // Answer `asked_line_` with statistics, then go on.
    kCloses,      // Send, then close.
  };

  Connection(Worker* worker, int fd);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Takes in and answers; the answers are in the worker's reply.
  Progress Run();

  // The server is stopping: what has been received is answered, nothing more is read.
  void Drain();
  // Ends it whatever its state: all its operations fail from now on.
  void Kick();
  // While its peer does not read: empties the receive buffers it holds, and receives no more.
  void ParkInput();
  [[nodiscard]] bool has_parked_input() const { return input_.has_parked(); }

  [[nodiscard]] int fd() const { return receiver_.fd(); }
  [[nodiscard]] std::uint32_t last_command_s() const { return last_command_s_; }

  ListLinks<Connection> links;          // In the worker's list of connections.
  ListLinks<Connection> stalled_links;  // In its list of those that wait for their peer to read.

 private:
  friend coro::Task<> Serve(Worker* worker, int fd);

  struct PendingValue;
  struct KeptOutput;

  std::size_t Assemble(std::size_t count_max);
  bool TakeValue(protocol::Command* command);
  Progress ExecuteBatch(std::size_t count);
  void HashBatch(std::size_t count);
  void LogBatch(std::size_t count);
  void LogLife(std::string_view event) const;
  Progress Follow(Action action, const protocol::Command& command);
  void BeginValue(const protocol::Command& command, const cache::HashedKey& key);
  bool ContinueValue();
  void TakeValueBytes(std::string_view bytes);
  void FinishValue();
  void Keep(const Outgoing& outgoing, std::size_t taken_bytes);
  coro::Task<bool> SendKept();
  coro::Task<bool> AnswerStats();
  void Unpin();

  Worker* worker_;
  uring::Receiver receiver_;
  uring::Sender sender_;
  Input input_;
  protocol::ClassicParser parser_;
  std::uint32_t last_command_s_ = 0;
  std::unique_ptr<PendingValue> pending_;  // A value that has not come whole.
  std::unique_ptr<KeptOutput> kept_;       // What a short send left.
  std::vector<cache::Item*> pins_;         // Items that what is being sent points into.
  std::string asked_line_;                 // `stats ...`, between Run and its answer.
};

// Serves the client at `fd`, which it closes in the end.
coro::Task<> Serve(Worker* worker, int fd);

}  // namespace server
