#include "server/server.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <latch>
#include <system_error>
#include <utility>

namespace server {
namespace {

constexpr std::chrono::milliseconds kFoldInterval{1000};

sigset_t HandledSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&signals, signal);
  return signals;
}

}  // namespace

void BlockSignals() {
  const sigset_t signals = HandledSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

Server::Server(Settings* settings, std::vector<ListeningSocket> sockets)
    : settings_(settings), sockets_(std::move(sockets)), block_(std::make_unique<stats::Block>()) {}

Server::~Server() {
  if (signal_fd_ >= 0) close(signal_fd_);
  if (!settings_->unix_path.empty()) unlink(settings_->unix_path.c_str());
}

uring::RingOptions Server::ring_options() const {
  return {.sq_entries = settings_->ring_depth, .cq_entries = settings_->cq_depth};
}

std::string Server::RingText() const {
  const std::uint32_t flags = ring_.setup_flags();
  std::string text;
  const auto add = [&text](bool has, std::string_view name) {
    if (!has) return;
    if (!text.empty()) text += ", ";
    text += name;
  };
  add((flags & IORING_SETUP_SINGLE_ISSUER) != 0, "single issuer");
  add((flags & IORING_SETUP_DEFER_TASKRUN) != 0, "deferred task work");
  add((flags & IORING_SETUP_COOP_TASKRUN) != 0, "cooperative task work");
  add(ring_.uses_multishot(), "multishot");
  return text.empty() ? "plain" : text;
}

// -- The beginning.

std::expected<void, std::string> Server::Open() {
  const sigset_t signals = HandledSignals();
  signal(SIGPIPE, SIG_IGN);
  signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);

  if (auto opened = OpenCache(); !opened) return opened;
  const uring::RingOptions options{.sq_entries = 256, .cq_entries = 4096, .buffer_count = 0};
  if (const int error = ring_.Open(options); error != 0) {
    return std::unexpected(uring::ExplainSetupFailure(error, options));
  }
  orders_ = std::make_unique<uring::Mailbox<Order>>(&ring_);
  aggregator_ = std::make_unique<Aggregator>(&ring_, kFoldInterval);
  aggregator_->AddBlock(block_.get());
  signal_poll_ = std::make_unique<uring::Poll>(&ring_, signal_fd_);
  for (ListeningSocket& socket : sockets_) {
    listeners_.push_back(
        std::make_unique<Listener>(this, &ring_, socket.fd, std::move(socket.address)));
  }
  return OpenWorkers();
}

std::expected<void, std::string> Server::OpenCache() {
  const cache::Options options{.memory_bytes = settings_->memory_bytes,
                               .thread_count = settings_->thread_count,
                               .item_bytes_max = settings_->item_bytes_max,
                               .evicts = settings_->evicts,
                               .has_cas = settings_->has_cas,
                               .class_factor = settings_->class_factor,
                               .slot_bytes_min = settings_->slot_bytes_min,
                               .slot_bytes_max = settings_->slot_bytes_max,
                               .uses_large_pages = settings_->uses_large_pages,
                               .limit_may_rise = !settings_->locks_memory};
  std::string error;
  shared_cache_ = cache::SharedCache::Create(options, &error);
  if (!shared_cache_) return std::unexpected(error);
  shared_cache_->SetAutomove(static_cast<cache::Automove>(settings_->automove));
  return {};
}

std::expected<void, std::string> Server::OpenWorkers() {
  const std::size_t count = settings_->thread_count;
  seats_.resize(count);
  for (std::uint32_t index = 0; index < count; ++index) {
    seats_[index].worker = std::make_unique<Worker>(this, index);
    aggregator_->AddBlock(&seats_[index].worker->block());
  }
  std::latch opened(static_cast<std::ptrdiff_t>(count));
  for (Seat& seat : seats_) StartThread(&seat, &opened);
  opened.wait();
  const auto failed =
      std::ranges::find_if(seats_, [](const Seat& seat) { return seat.error != 0; });
  if (failed == seats_.end()) {
    live_worker_count_ = count;
    return {};
  }
  const int error = failed->error;
  const bool has_thread = failed->thread.joinable();
  for (Seat& seat : seats_) {
    if (seat.error == 0) seat.worker->Post(nullptr, {.kind = WorkerMessage::Kind::kStop});
    if (seat.thread.joinable()) seat.thread.join();
  }
  if (has_thread) return std::unexpected(uring::ExplainSetupFailure(error, ring_options()));
  return std::unexpected(
      fmt::format("thread {} of {} cannot be started: {}; raise the limit of processes (ulimit -u, "
                  "--pids-limit, TasksMax) or use fewer --threads",
                  failed - seats_.begin() + 1, count, std::strerror(error)));
}

// A thread that the system refuses is an error of its seat.
void Server::StartThread(Seat* seat, std::latch* opened) {
  try {
    seat->thread = std::thread([this, seat, opened] { RunWorker(seat, opened); });
  } catch (const std::system_error& refusal) {
    seat->error = refusal.code().value();
    opened->count_down();
  }
}

// The body of a worker's thread.
void Server::RunWorker(Seat* seat, std::latch* opened) {
  const std::string name = fmt::format("worker-{}", seat->worker->index());
  pthread_setname_np(pthread_self(), name.c_str());
  seat->worker->Run([seat, opened](int error) {
    seat->error = error;
    opened->count_down();
  });
  if (seat->error == 0) orders_->Post(nullptr, Order::kWorkerEnded);
}

// -- Running.

void Server::Run() {
  loops_.Spawn(SignalLoop());
  loops_.Spawn(OrderLoop());
  loops_.Spawn(aggregator_->AggregateLoop());
  loops_.Spawn(aggregator_->AnswerLoop());
  for (const auto& listener : listeners_) loops_.Spawn(listener->AcceptLoop());
  while (loops_.live_count() != 0) {
    ring_.Enter(uring::Wait::kYes);
    ring_.ResumeReady();
  }
  for (Seat& seat : seats_) seat.thread.join();
}

std::uint64_t Server::Seat::ConnectionCount() const {
  return given_count - worker->block().closed_connections.Get();
}

std::size_t Server::ConnectionCount() const {
  std::size_t count = 0;
  for (const Seat& seat : seats_) count += seat.ConnectionCount();
  return count;
}

void Server::HandOver(int fd) {
  Seat& seat = *std::ranges::min_element(seats_, {}, &Seat::ConnectionCount);
  ++seat.given_count;
  seat.worker->Post(&ring_, {.kind = WorkerMessage::Kind::kSocket, .fd = fd});
}

// -- The end.

void Server::AskStop(uring::Ring* from) { orders_->Post(from, Order::kStop); }

coro::Task<> Server::SignalLoop() {
  while (!has_ended_) {
    signal_poll_->Start();
    co_await signal_poll_->Wait();
    ObeySignals();
  }
}

void Server::ObeySignals() {
  signalfd_siginfo info{};
  while (read(signal_fd_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGHUP) {
      spdlog::info("SIGHUP: nothing to read again");
      continue;
    }
    spdlog::info("stopping: {} received", strsignal(static_cast<int>(info.ssi_signo)));
    BeginStop();
  }
}

coro::Task<> Server::OrderLoop() {
  for (;;) {
    Order order{};
    while (orders_->Take(&order)) {
      if (order == Order::kStop) BeginStop();
      if (order == Order::kWorkerEnded) --live_worker_count_;
    }
    if (live_worker_count_ == 0) break;
    co_await orders_->Wait();
  }
  EndLoops();
}

void Server::BeginStop() {
  if (is_stopping_) return;
  is_stopping_ = true;
  for (const auto& listener : listeners_) listener->Stop();
  for (const Seat& seat : seats_) {
    seat.worker->Post(&ring_, {.kind = WorkerMessage::Kind::kStop});
  }
}

// No worker is left: nothing else has to go on.
void Server::EndLoops() {
  has_ended_ = true;
  signal_poll_->Cancel();
  aggregator_->Stop();
}

}  // namespace server
