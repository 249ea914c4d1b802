#include "server/connection.h"

#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "coro/ensure.h"
#include "server/aggregator.h"
#include "server/stats_answer.h"
#include "server/worker.h"

namespace server {
namespace {

using protocol::Command;
using protocol::Verb;

constexpr std::string_view kValueEnd = "\r\n";
constexpr std::int32_t kVerbosityConnections = 1;
constexpr std::int32_t kVerbosityCommands = 2;
// One send takes at most so much, so that what has been sent can be let go of.
constexpr std::size_t kSliceBytesMax = std::size_t{64} << 20;

// After these nothing of the same batch is looked at.
bool EndsBatch(Verb verb) {
  return verb == Verb::kQuit || verb == Verb::kClose || verb == Verb::kStats ||
         verb == Verb::kAdmin;
}

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

}  // namespace

// A storage command whose value has not come whole: what it was, and the item it is received into.
// A command in error has no item; its value is thrown away.
struct Connection::PendingValue {
  static void* operator new(std::size_t bytes) { return coro::FramePool::Local().Take(bytes); }
  static void operator delete(void* memory, std::size_t bytes) noexcept {
    coro::FramePool::Local().Return(memory, bytes);
  }

  Command command;
  cache::Draft draft;
  std::uint64_t missing_bytes = 0;  // Of the value and the line end behind it.
  bool is_ended = true;             // What has come of the line end is right.
  std::uint64_t key_hash = 0;
  std::array<char, protocol::kKeyBytesMax> key_text;

  [[nodiscard]] cache::HashedKey key() const {
    return {.text = {key_text.data(), command.key.size()}, .hash = key_hash};
  }
};

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
      input_(&receiver_, &worker->carries(), &worker->block()),
      last_command_s_(worker->cache().now().steady_s) {
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

// -- From bytes to answers.

Connection::Progress Connection::Run() {
  worker_->reply().Begin();
  std::size_t budget = worker_->settings().requests_per_turn;
  for (;;) {
    if (pending_ && !ContinueValue()) return Progress::kNeedsInput;
    const std::size_t count = Assemble(std::min(budget, kBatchMax));
    if (count == 0) {
      const bool is_partial = !input_.View().empty();
      input_.Release();
      if (is_partial ? !input_.Join() : input_.View().empty()) return Progress::kNeedsInput;
      continue;
    }
    last_command_s_ = worker_->cache().now().steady_s;
    const Progress progress = ExecuteBatch(count);
    input_.Release();
    if (progress != Progress::kGoesOn) return progress;
    if (worker_->reply().is_full()) return Progress::kReplyFull;
    budget -= count;
    if (budget == 0 && !input_.is_empty()) return Progress::kYields;
    budget = std::max<std::size_t>(budget, 1);
  }
}

std::size_t Connection::Assemble(std::size_t count_max) {
  Batch& batch = worker_->batch();
  std::size_t count = 0;
  while (count < count_max && !input_.View().empty()) {
    batch.marks[count] = input_.Here();
    batch.parsers[count] = parser_;
    Command* command = &batch.commands[count];
    const protocol::Parsed parsed = parser_.Parse(input_.View(), command);
    input_.Consume(parsed.consumed_bytes);
    if (parsed.outcome == protocol::Parsed::Outcome::kNeedsMore) break;
    ++count;
    if (EndsBatch(command->verb) || (command->has_value && !TakeValue(command))) break;
  }
  return count;
}

bool Connection::TakeValue(Command* command) {
  const std::string_view view = input_.View();
  const std::size_t value_bytes = command->value_bytes;
  if (view.size() < value_bytes + kValueEnd.size()) return false;
  command->value = view.substr(0, value_bytes);
  command->value_is_whole = true;
  command->value_is_ended = view.substr(value_bytes, kValueEnd.size()) == kValueEnd;
  input_.Consume(value_bytes + kValueEnd.size());
  return true;
}

void Connection::HashBatch(std::size_t count) {
  Batch& batch = worker_->batch();
  cache::Cache& cache = worker_->cache();
  for (std::size_t index = 0; index < count; ++index) {
    batch.keys[index] = cache.Hash(batch.commands[index].key);
  }
  if (count == 1) return;  // Nothing to overlap with.
  for (std::size_t index = 0; index < count; ++index) cache.PrefetchBucket(batch.keys[index]);
  for (std::size_t index = 0; index < count; ++index) cache.PrefetchItem(batch.keys[index]);
}

Connection::Progress Connection::ExecuteBatch(std::size_t count) {
  if (worker_->settings().verbosity.load(std::memory_order_relaxed) >= kVerbosityCommands) {
    LogBatch(count);
  }
  HashBatch(count);
  Batch& batch = worker_->batch();
  for (std::size_t index = 0; index < count; ++index) {
    if (index != 0 && worker_->reply().is_full()) {
      input_.GoBack(batch.marks[index]);
      parser_ = batch.parsers[index];
      return Progress::kReplyFull;
    }
    const Command& command = batch.commands[index];
    if (command.has_value && !command.value_is_whole) {
      BeginValue(command, batch.keys[index]);
      return Progress::kGoesOn;
    }
    const Action action = worker_->executor().Execute(command, batch.keys[index]);
    if (action != Action::kGoOn) return Follow(action, command);
  }
  return Progress::kGoesOn;
}

// -vv: what clients ask for.
void Connection::LogBatch(std::size_t count) {
  const Batch& batch = worker_->batch();
  for (std::size_t index = 0; index < count; ++index) {
    const Command& command = batch.commands[index];
    spdlog::debug("<{} {} {}", fd(), protocol::NameOf(command.verb),
                  command.line.empty() ? command.key : command.line);
  }
}

Connection::Progress Connection::Follow(Action action, const Command& command) {
  if (action == Action::kStats) {
    asked_line_ = command.line;
    return Progress::kWantsStats;
  }
  if (action == Action::kShutDown) worker_->AskShutDown();
  return Progress::kCloses;
}

// -- Values that come in parts.

void Connection::BeginValue(const Command& command, const cache::HashedKey& key) {
  pending_ = std::make_unique<PendingValue>();
  pending_->command = command;
  pending_->missing_bytes = command.value_bytes + kValueEnd.size();
  if (command.verb == Verb::kError) {
    worker_->executor().Execute(command, key);
    return;
  }
  std::ranges::copy(command.key, pending_->key_text.data());
  pending_->key_hash = key.hash;
  worker_->executor().BeginStore(command, key, &pending_->draft);
}

bool Connection::ContinueValue() {
  for (;;) {
    const std::string_view view = input_.View();
    const std::size_t taken_bytes = std::min<std::size_t>(view.size(), pending_->missing_bytes);
    TakeValueBytes(view.substr(0, taken_bytes));
    input_.Consume(taken_bytes);
    if (pending_->missing_bytes == 0) break;
    input_.Release();
    if (input_.View().empty()) return false;
  }
  FinishValue();
  input_.Release();
  return true;
}

void Connection::TakeValueBytes(std::string_view bytes) {
  PendingValue& pending = *pending_;
  const std::uint64_t end_bytes = kValueEnd.size();
  if (pending.missing_bytes > end_bytes) {
    const std::string_view value = bytes.substr(0, pending.missing_bytes - end_bytes);
    if (pending.draft.is_open() && !pending.draft.Append(value)) {
      pending.draft = cache::Draft();
      worker_->executor().FailStore(pending.command, pending.key());
    }
    pending.missing_bytes -= value.size();
    bytes.remove_prefix(value.size());
  }
  if (bytes.empty()) return;
  const std::string_view expected =
      kValueEnd.substr(end_bytes - pending.missing_bytes, bytes.size());
  pending.is_ended &= bytes == expected;
  pending.missing_bytes -= bytes.size();
}

void Connection::FinishValue() {
  const std::unique_ptr<PendingValue> pending = std::move(pending_);
  if (!pending->draft.is_open()) return;  // It has been answered.
  worker_->executor().FinishStore(pending->command, &pending->draft, pending->is_ended);
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

coro::Task<bool> Connection::AnswerStats() {
  FoldTicket ticket(worker_);
  ticket.resets = AsksReset(asked_line_);
  worker_->AskFold(&ticket);
  co_await ticket.done.Wait();
  const std::string answer = ClassicStats(server::AnswerStats(asked_line_, *worker_, ticket));
  asked_line_.clear();
  kept_ = std::make_unique<KeptOutput>();
  kept_->bytes = answer.size();
  kept_->text = std::make_unique_for_overwrite<char[]>(answer.size());
  std::memcpy(kept_->text.get(), answer.data(), answer.size());
  kept_->pieces.push_back({kept_->text.get(), answer.size()});
  worker_->block().bytes_written.Add(answer.size());
  const bool is_open = co_await SendKept();
  co_return is_open;
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
    const Connection::Progress progress = connection.Run();
    if (!worker->reply().is_empty()) {
      const Outgoing outgoing = worker->reply().Finish(&connection.pins_);
      worker->block().bytes_written.Add(outgoing.bytes);
      const bool waits = progress == Connection::Progress::kNeedsInput && !receiver.has_ended();
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
    if (!is_open || progress == Connection::Progress::kCloses) break;
    if (progress == Connection::Progress::kWantsStats) is_open = co_await connection.AnswerStats();
    if (progress == Connection::Progress::kYields) {
      worker->block().conn_yields.Add();
      receiver.Nudge();
      co_await receiver.Wait();
    }
    if (progress != Connection::Progress::kNeedsInput) continue;
    receiver.Start();
    while (!receiver.has_data() && !receiver.has_ended()) co_await receiver.Wait();
    is_open = receiver.has_data();
  }
  receiver.Stop();
  while (receiver.in_flight()) co_await receiver.Wait();
  close(fd);
}

}  // namespace server
