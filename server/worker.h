// Worker: a thread, and what it owns: its ring, its connections, its door to the cache, its
// statistics block.
//
// One turn of its loop: wait once in the kernel, take all completions in, resume the connections
// concerned, which answer; the answers go out with the next wait. Nothing of a worker is touched by
// another thread but its mailbox and, for reading, its block.
//
// Owner: the Server. Threads: made and read by main before its thread starts and after it has
// ended; else its own, but for Post and block().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "coro/spawn.h"
#include "server/aggregator.h"
#include "server/cache/cache.h"
#include "server/chunk_pool.h"
#include "server/connection.h"
#include "server/execute.h"
#include "server/linked_list.h"
#include "server/prefix_stats.h"
#include "server/reply.h"
#include "stats/block.h"
#include "uring/mailbox.h"
#include "uring/ring.h"
#include "uring/timer.h"

namespace server {

class Server;

// What a worker is told.
struct WorkerMessage {
  enum class Kind : std::uint8_t {
    kSocket,  // A new client; `fd` is the worker's now.
    kFolded,  // `ticket` is ready.
    kStop,    // Finish what clients have sent, then end.
  };
  Kind kind = Kind::kStop;
  int fd = -1;
  FoldTicket* ticket = nullptr;
};

class Worker {
 public:
  Worker(Server* server, std::uint32_t index);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  // The thread's body. `opened` is called once, with 0 or the errno of the ring's set-up; after an
  // error it returns at once.
  void Run(const std::function<void(int error)>& opened);

  // From any thread. `from`: the calling thread's ring, or null.
  void Post(uring::Ring* from, WorkerMessage message) { mailbox_->Post(from, message); }

  // Asks the aggregator for a fresh sum; ticket->done is set when it is there.
  void AskFold(FoldTicket* ticket);
  // Asks the server to stop.
  void AskShutDown();

  [[nodiscard]] std::uint32_t index() const { return index_; }
  [[nodiscard]] Server& server() { return *server_; }
  [[nodiscard]] const Settings& settings() const;
  [[nodiscard]] uring::Ring& ring() { return ring_; }
  [[nodiscard]] cache::Cache& cache() { return *cache_; }
  [[nodiscard]] stats::Block& block() { return *block_; }
  [[nodiscard]] PrefixStats& prefixes() { return prefixes_; }  // From any thread.
  [[nodiscard]] Reply& reply() { return *reply_; }
  [[nodiscard]] ReplyArena& arena() { return arena_; }
  [[nodiscard]] const SessionTools& session_tools() const { return tools_; }
  [[nodiscard]] ChunkPool& carries() { return carries_; }

  using Connections = LinkedList<Connection, &Connection::links>;
  using Stalled = LinkedList<Connection, &Connection::stalled_links>;
  [[nodiscard]] Connections& connections() { return connections_; }
  [[nodiscard]] Stalled& stalled() { return stalled_; }

 private:
  void Open();
  void Loop();
  void Turn(bool has_work);
  void ParkStalled();
  void CountRing();
  coro::Task<> ReadMailLoop();
  coro::Task<> TickLoop();
  coro::Task<> KickLateClients();
  coro::Task<> AwaitLastClient();
  void Take(const WorkerMessage& message);
  void KickIdle();
  void BeginStop();

  Server* server_;
  std::uint32_t index_;
  std::unique_ptr<stats::Block> block_;
  uring::Ring ring_;
  std::unique_ptr<uring::Mailbox<WorkerMessage>> mailbox_;
  std::unique_ptr<cache::Cache> cache_;
  ReplyArena arena_;
  std::unique_ptr<Reply> reply_;
  PrefixStats prefixes_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Batch> batch_;
  SessionTools tools_{};
  ChunkPool carries_{Input::kCarryBytes, 64};
  Connections connections_;
  Stalled stalled_;
  coro::Spawner clients_;  // Serve coroutines.
  coro::Spawner loops_;    // The worker's own.
  uring::Timer tick_{&ring_};
  uring::Timer deadline_{&ring_};
  bool is_stopping_ = false;
};

}  // namespace server
