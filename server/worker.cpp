#include "server/worker.h"

#include <unistd.h>

#include <chrono>

#include "server/limits.h"
#include "server/server.h"

namespace server {

Worker::Worker(Server* server, std::uint32_t index)
    : server_(server),
      index_(index),
      block_(std::make_unique<stats::Block>()),
      mailbox_(std::make_unique<uring::Mailbox<WorkerMessage>>(&ring_)),
      prefixes_(server->settings().prefix_delimiter) {}

Worker::~Worker() = default;

const Settings& Worker::settings() const { return server_->settings(); }

void Worker::Run(const std::function<void(int error)>& opened) {
  const int error = ring_.Open(server_->ring_options());
  if (error == 0) Open();
  opened(error);
  if (error == 0) Loop();
}

void Worker::Open() {
  cache_ = std::make_unique<cache::Cache>(&server_->shared_cache(), index_, block_.get());
  reply_ = std::make_unique<Reply>(&arena_, cache_.get());
  batch_ = std::make_unique<Batch>();
  executor_ = std::make_unique<Executor>(cache_.get(), reply_.get(), block_.get(), &prefixes_,
                                         &server_->clock(), &server_->settings());
  tools_ = {.cache = cache_.get(),
            .executor = executor_.get(),
            .reply = reply_.get(),
            .batch = batch_.get(),
            .settings = &server_->settings()};
}

void Worker::Loop() {
  cache_->GoOnline(server_->clock().Read());
  loops_.Spawn(ReadMailLoop());
  loops_.Spawn(TickLoop());
  bool has_work = false;
  while (loops_.live_count() != 0 || clients_.live_count() != 0) {
    Turn(has_work);
    has_work = cache_->Maintain();
  }
  cache_->GoOffline();
}

void Worker::Turn(bool has_work) {
  cache_->GoOffline();
  ring_.Enter(has_work ? uring::Wait::kNo : uring::Wait::kYes);
  cache_->GoOnline(server_->clock().Read());
  if (!ring_.has_unsettled_sends()) arena_.Empty();
  ring_.ResumeReady([this] { return arena_.turn_bytes() >= kTurnReplyBytesMax; });
  if (stalled_.count() != 0 && ring_.buffers().held_count() != 0) ParkStalled();
  CountRing();
}

void Worker::ParkStalled() {
  stalled_.ForEach([](Connection* connection) { connection->ParkInput(); });
  if (block_->parked_input_bytes.Get() <= static_cast<std::int64_t>(kParkedBytesMax)) return;
  // Too many clients send without reading: they go, before they take everybody's memory.
  stalled_.ForEach([this](Connection* connection) {
    if (!connection->has_parked_input()) return;
    block_->read_buf_oom.Add();
    connection->Kick();
  });
}

void Worker::CountRing() {
  const uring::RingCounters& counters = ring_.counters();
  block_->ring_turns.Set(counters.turns);
  block_->ring_enters.Set(counters.enters);
  block_->ring_completions.Set(counters.completions);
  block_->ring_cq_overflows.Set(counters.cq_overflows);
  block_->ring_receive_no_buffers.Set(counters.receive_no_buffers);
  block_->ring_sends.Set(counters.sends);
  block_->ring_short_sends.Set(counters.short_sends);
}

// -- Mail.

coro::Task<> Worker::ReadMailLoop() {
  for (;;) {
    WorkerMessage message;
    while (mailbox_->Take(&message)) Take(message);
    if (is_stopping_ && clients_.live_count() == 0) co_return;
    co_await mailbox_->Wait();
  }
}

void Worker::Take(const WorkerMessage& message) {
  switch (message.kind) {
    case WorkerMessage::Kind::kSocket:
      if (is_stopping_) {
        close(message.fd);
        block_->closed_connections.Add();
      } else {
        clients_.Spawn(Serve(this, message.fd));
      }
      return;
    case WorkerMessage::Kind::kFolded:
      message.ticket->done.Set();
      return;
    case WorkerMessage::Kind::kStop:
      BeginStop();
      return;
  }
}

void Worker::AskFold(FoldTicket* ticket) { server_->aggregator().Ask(&ring_, ticket); }

void Worker::AskShutDown() { server_->AskStop(&ring_); }

// -- Time.

coro::Task<> Worker::TickLoop() {
  while (!is_stopping_) {
    tick_.Start(std::chrono::seconds(1));
    co_await tick_.Wait();
    if (settings().idle_timeout_s != 0) KickIdle();
  }
}

void Worker::KickIdle() {
  const std::uint32_t now_s = cache_->now().steady_s;
  connections_.ForEach([&](Connection* connection) {
    if (now_s - connection->last_active_s() <= settings().idle_timeout_s) return;
    block_->idle_kicks.Add();
    connection->Kick();
  });
}

// -- The end.

void Worker::BeginStop() {
  if (is_stopping_) return;
  is_stopping_ = true;
  tick_.Cancel();
  connections_.ForEach([](Connection* connection) { connection->Drain(); });
  loops_.Spawn(KickLateClients());
  loops_.Spawn(AwaitLastClient());
}

// Clients that keep the server from stopping are cut off.
coro::Task<> Worker::KickLateClients() {
  deadline_.Start(std::chrono::milliseconds(kDrainMilliseconds));
  co_await deadline_.Wait();
  connections_.ForEach([](Connection* connection) { connection->Kick(); });
}

coro::Task<> Worker::AwaitLastClient() {
  co_await clients_.Empty();
  deadline_.Cancel();
  ring_.MarkReady(mailbox_.get());
}

}  // namespace server
