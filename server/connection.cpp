#include "server/connection.h"

#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "server/aggregator.h"
#include "server/server.h"
#include "server/stats_answer.h"
#include "server/worker.h"

namespace server {
namespace {

constexpr std::int32_t kVerbosityConnections = 1;
// One send takes at most so much, so that what has been sent can be let go of.
constexpr std::size_t kSliceBytesMax = std::size_t{64} << 20;

// What is left of `pieces` when their first `bytes` have been sent.
std::span<iovec> SkipSent(std::span<iovec> pieces, std::size_t bytes) {
  while (!pieces.empty() && bytes >= pieces.front().iov_len) {
    bytes -= pieces.front().iov_len;
    pieces = pieces.subspan(1);
  }
  if (bytes != 0) {
    iovec& first = pieces.front();
    first.iov_base = static_cast<char*>(first.iov_base) + bytes;
    first.iov_len -= bytes;
  }
  return pieces;
}

bool EndsConnection(Session::Progress progress) {
  return progress == Session::Progress::kCloses || progress == Session::Progress::kShutsDown;
}

}  // namespace

// What a peer that reads slowly has still to get. Text is our own copy; values lie in pinned items.
struct Connection::KeptOutput {
  std::unique_ptr<char[]> text;
  std::vector<iovec> pieces;
  std::size_t bytes = 0;
};

Connection::Connection(Worker* worker, int fd)
    : worker_(worker),
      receiver_(&worker->ring(), fd),
      sender_(&worker->ring(), fd),
      received_(&receiver_),
      input_(&received_, &worker->carries(), &worker->block()),
      session_(&worker->session_tools(), &input_, fd),
      opened_s_(worker->cache().now().steady_s) {
  worker->connections().Add(this);
  worker->block().curr_connections.Add(1);
  LogLife("opened");
}

Connection::~Connection() {
  LogLife("closed");
  Unpin();
  worker_->connections().Remove(this);
  worker_->block().curr_connections.Add(-1);
  worker_->block().closed_connections.Add();
}

// -v: clients that come and go.
void Connection::LogLife(std::string_view event) const {
  if (worker_->settings().verbosity.load(std::memory_order_relaxed) < kVerbosityConnections) return;
  spdlog::debug("connection {} {} in worker {}", fd(), event, worker_->index());
}

// -- Output that the peer has not taken.

void Connection::Keep(const Outgoing& outgoing, std::size_t taken_bytes) {
  const ReplyArena& arena = worker_->arena();
  const std::span<iovec> rest = SkipSent(outgoing.pieces, taken_bytes);
  kept_ = std::make_unique<KeptOutput>();
  kept_->bytes = outgoing.bytes - taken_bytes;
  kept_->pieces.assign(rest.begin(), rest.end());
  std::size_t text_bytes = 0;
  for (const iovec& piece : rest) {
    if (arena.Owns(piece.iov_base)) text_bytes += piece.iov_len;
  }
  kept_->text = std::make_unique_for_overwrite<char[]>(text_bytes);
  char* to = kept_->text.get();
  for (iovec& piece : kept_->pieces) {
    if (!arena.Owns(piece.iov_base)) continue;
    std::memcpy(to, piece.iov_base, piece.iov_len);
    piece.iov_base = to;
    to += piece.iov_len;
  }
}

coro::Task<bool> Connection::SendKept() {
  stats::Block& block = worker_->block();
  const auto kept_bytes = static_cast<std::int64_t>(kept_->bytes);
  block.parked_output_bytes.Add(kept_bytes);
  worker_->stalled().Add(this);
  std::span<iovec> rest = kept_->pieces;
  bool is_open = true;
  while (is_open && !rest.empty()) {
    std::size_t slice_count = 0;
    for (std::size_t bytes = 0; slice_count < rest.size() && bytes < kSliceBytesMax;
         ++slice_count) {
      bytes += rest[slice_count].iov_len;
    }
    slice_count = std::min(slice_count, uring::Sender::kPieceCountMax);
    const std::int32_t sent_bytes = co_await sender_.All(rest.first(slice_count));
    is_open = sent_bytes > 0;
    if (is_open) rest = SkipSent(rest, static_cast<std::size_t>(sent_bytes));
  }
  worker_->stalled().Remove(this);
  block.parked_output_bytes.Add(-kept_bytes);
  kept_.reset();
  // Reading goes on now and not after the next answer: that one goes out in silence, and only what
  // is received wakes us then.
  if (is_open) receiver_.Start();
  co_return is_open;
}

void Connection::ParkInput() {
  if (!receiver_.has_data()) return;
  receiver_.Stop();
  input_.Park();
}

void Connection::Unpin() {
  for (cache::Item* item : pins_) worker_->cache().Unpin(item);
  pins_.clear();
}

// `text` is copied.
coro::Task<bool> Connection::SendText(std::string_view text) {
  kept_ = std::make_unique<KeptOutput>();
  kept_->bytes = text.size();
  kept_->text = std::make_unique_for_overwrite<char[]>(text.size());
  std::memcpy(kept_->text.get(), text.data(), text.size());
  kept_->pieces.push_back({kept_->text.get(), text.size()});
  worker_->block().bytes_written.Add(text.size());
  const bool is_open = co_await SendKept();
  co_return is_open;
}

coro::Task<bool> Connection::AnswerStats() {
  const StatsRequest request = session_.TakeStatsRequest();
  FoldTicket ticket(worker_);
  ticket.resets = AsksReset(request.group);
  worker_->AskFold(&ticket);
  co_await ticket.done.Wait();
  StatsAnswer answer = server::AnswerStats(request.group, *worker_, ticket);
  if (answer.kind == StatsAnswer::Kind::kSizes) {
    const Dump::SizeCounts counts = co_await CountSizes();
    answer = SizeLines(counts);
  }
  const bool is_text = request.dialect == protocol::Dialect::kClassic;
  bool is_open = true;
  if (answer.kind == StatsAnswer::Kind::kDump && is_text) {
    is_open = co_await WriteDump(answer.dump);
  } else {
    const std::string text = WordStats(request, answer);
    is_open = co_await SendText(text);
  }
  co_return is_open;
}

// Other connections get their turns meanwhile.
coro::Task<bool> Connection::WriteDump(DumpRequest request) {
  constexpr std::size_t kBytesASend = std::size_t{64} << 10;
  Dump dump(request, &worker_->cache(), &worker_->server().clock());
  bool is_open = true;
  while (is_open && !dump.is_done()) {
    dump.Step();
    if (dump.text().size() >= kBytesASend || dump.is_done()) {
      is_open = co_await SendText(dump.text());
      dump.text().clear();
    } else {
      receiver_.Nudge();
      co_await receiver_.Wait();
    }
  }
  co_return is_open;
}

coro::Task<Dump::SizeCounts> Connection::CountSizes() {
  DumpRequest request{.kind = DumpRequest::Kind::kSizes, .classes = {}};
  request.classes.AddAll();
  Dump dump(request, &worker_->cache(), &worker_->server().clock());
  for (dump.Step(); !dump.is_done(); dump.Step()) {
    receiver_.Nudge();
    co_await receiver_.Wait();
  }
  co_return dump.size_counts();
}

// -- Its life.

void Connection::Drain() { shutdown(fd(), SHUT_RD); }

void Connection::Kick() { shutdown(fd(), SHUT_RDWR); }

coro::Task<> Serve(Worker* worker, int fd) {
  Connection connection(worker, fd);
  uring::Receiver& receiver = connection.receiver_;
  receiver.Start();
  bool is_open = true;
  while (is_open) {
    const Session::Progress progress = connection.session_.Run();
    if (!worker->reply().is_empty()) {
      const Outgoing outgoing = worker->reply().Finish(&connection.pins_);
      worker->block().bytes_written.Add(outgoing.bytes);
      const bool waits = progress == Session::Progress::kNeedsInput && !receiver.has_ended();
      const uring::Then then = waits ? uring::Then::kIdle : uring::Then::kGoesOn;
      std::int32_t taken_bytes = 0;
      if (outgoing.FitsOneSend()) {
        taken_bytes = co_await connection.sender_.Try(outgoing.pieces, then);
      }
      is_open = taken_bytes >= 0;
      if (is_open && static_cast<std::size_t>(taken_bytes) < outgoing.bytes) {
        connection.Keep(outgoing, static_cast<std::size_t>(taken_bytes));
        is_open = co_await connection.SendKept();
      }
      connection.Unpin();
    }
    if (progress == Session::Progress::kShutsDown) worker->AskShutDown();
    if (!is_open || EndsConnection(progress)) break;
    if (progress == Session::Progress::kWantsStats) is_open = co_await connection.AnswerStats();
    if (progress == Session::Progress::kWantsDump) {
      is_open = co_await connection.WriteDump(connection.session_.dump_request());
    }
    if (progress == Session::Progress::kYields) {
      worker->block().conn_yields.Add();
      receiver.Nudge();
      co_await receiver.Wait();
    }
    if (progress != Session::Progress::kNeedsInput) continue;
    receiver.Start();
    while (!receiver.has_data() && !receiver.has_ended()) co_await receiver.Wait();
    is_open = receiver.has_data();
  }
  receiver.Stop();
  while (receiver.in_flight()) co_await receiver.Wait();
  close(fd);
}

}  // namespace server
