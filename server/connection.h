// Connection: a client's socket, from its first byte to its close.
//
// Serve is the coroutine: it receives and sends; all between is its Session's. While the peer does
// not read, nothing more of it is carried out, and its input is moved out of the shared buffers.
//
// Nothing is allocated for an idle connection but its coroutine frame.
//
// Owner: the Serve coroutine's frame; listed by its worker. Threads: its worker's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "coro/task.h"
#include "server/byte_source.h"
#include "server/input.h"
#include "server/linked_list.h"
#include "server/reply.h"
#include "server/session.h"
#include "uring/receiver.h"
#include "uring/sender.h"

namespace server {

class Worker;

class Connection {
 public:
  Connection(Worker* worker, int fd);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The server is stopping: what has been received is answered, nothing more is read.
  void Drain();
  // Ends it whatever its state: all its operations fail from now on.
  void Kick();
  // While its peer does not read: empties the receive buffers it holds, and receives no more.
  void ParkInput();
  [[nodiscard]] bool has_parked_input() const { return input_.has_parked(); }

  [[nodiscard]] int fd() const { return receiver_.fd(); }
  // When it last asked something; before that, when it came.
  [[nodiscard]] std::uint32_t last_active_s() const {
    return std::max(session_.last_command_s(), opened_s_);
  }

  ListLinks<Connection> links;          // In the worker's list of connections.
  ListLinks<Connection> stalled_links;  // In its list of those that wait for their peer to read.

 private:
  friend coro::Task<> Serve(Worker* worker, int fd);

  struct KeptOutput;

  void LogLife(std::string_view event) const;
  void Keep(const Outgoing& outgoing, std::size_t taken_bytes);
  coro::Task<bool> SendKept();
  coro::Task<bool> AnswerStats();
  coro::Task<bool> WriteDump(DumpRequest request);
  coro::Task<Dump::SizeCounts> CountSizes();
  coro::Task<bool> SendText(std::string_view text);
  void Unpin();

  Worker* worker_;
  uring::Receiver receiver_;
  uring::Sender sender_;
  ReceivedBytes received_;
  Input input_;
  Session session_;
  std::uint32_t opened_s_;
  std::unique_ptr<KeptOutput> kept_;  // What a short send left.
  std::vector<cache::Item*> pins_;    // Items that what is being sent points into.
};

// Serves the client at `fd`, which it closes in the end.
coro::Task<> Serve(Worker* worker, int fd);

}  // namespace server
