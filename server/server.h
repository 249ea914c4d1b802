// Server: the whole of a running ringcached: the workers, and the main thread's control ring.
//
// The control ring runs everything that is not a client's request: accepting and placing sockets,
// signals, the aggregator, and the orderly end. The main thread sleeps there while workers work.
//
//   Server server(&settings, std::move(listening_sockets));
//   if (auto opened = server.Open(); !opened) ...opened.error() is one line for the user...
//   server.Run();    // until SIGINT, SIGTERM, or `shutdown`
//
// Owner: main. Threads: main's, but for what says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "coro/spawn.h"
#include "coro/task.h"
#include "server/aggregator.h"
#include "server/cache/cache.h"
#include "server/clock.h"
#include "server/listener.h"
#include "server/settings.h"
#include "server/worker.h"
#include "stats/block.h"
#include "uring/mailbox.h"
#include "uring/ring.h"

namespace server {

// Blocks the signals that the control ring reads from a descriptor, in this thread and those it
// starts. Before anything listens: one that comes during the start is obeyed right after it.
void BlockSignals();

class Server {
 public:
  Server(Settings* settings, std::vector<ListeningSocket> sockets);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Makes the cache, the rings and the threads. The error is one line for the user.
  std::expected<void, std::string> Open();
  // Serves until told to stop; returns when every thread has ended.
  void Run();

  // -- For workers, in their threads.
  [[nodiscard]] Settings& settings() { return *settings_; }
  [[nodiscard]] Clock& clock() { return clock_; }
  [[nodiscard]] cache::SharedCache& shared_cache() { return *shared_cache_; }
  template <typename Visit>
  void ForEachWorker(Visit visit) {
    for (Seat& seat : seats_) visit(seat.worker.get());
  }
  [[nodiscard]] Aggregator& aggregator() { return *aggregator_; }
  [[nodiscard]] uring::RingOptions ring_options() const;
  // Begins the orderly end. `from`: the calling thread's ring.
  void AskStop(uring::Ring* from);

  // -- For listeners, in the main thread.
  [[nodiscard]] stats::Block& block() { return *block_; }
  [[nodiscard]] std::size_t ConnectionCount() const;
  // Gives the socket to the worker with the fewest connections.
  void HandOver(int fd);

  [[nodiscard]] const std::vector<std::unique_ptr<Listener>>& listeners() const {
    return listeners_;
  }
  // How its rings work, in words: "single issuer, deferred task work, multishot".
  [[nodiscard]] std::string RingText() const;

 private:
  // What the control ring is told by workers.
  enum class Order : std::uint8_t { kStop, kWorkerEnded };

  // A worker, its thread, and how many sockets it has been given.
  struct Seat {
    std::unique_ptr<Worker> worker;
    std::thread thread;
    std::uint64_t given_count = 0;
    int error = 0;  // Of opening the worker's ring.
    [[nodiscard]] std::uint64_t ConnectionCount() const;
  };

  std::expected<void, std::string> OpenCache();
  std::expected<void, std::string> OpenWorkers();
  void StartThread(Seat* seat, std::latch* opened);
  void RunWorker(Seat* seat, std::latch* opened);
  coro::Task<> SignalLoop();
  coro::Task<> OrderLoop();
  void ObeySignals();
  void BeginStop();
  void EndLoops();

  Settings* settings_;
  Clock clock_;
  std::vector<ListeningSocket> sockets_;
  std::unique_ptr<stats::Block> block_;
  std::unique_ptr<cache::SharedCache> shared_cache_;
  uring::Ring ring_;
  std::unique_ptr<uring::Mailbox<Order>> orders_;
  std::unique_ptr<Aggregator> aggregator_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<Seat> seats_;
  std::size_t live_worker_count_ = 0;
  coro::Spawner loops_;
  int signal_fd_ = -1;
  std::unique_ptr<uring::Poll> signal_poll_;
  bool is_stopping_ = false;
  bool has_ended_ = false;
};

}  // namespace server
