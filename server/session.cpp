#include "server/session.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "coro/frame_pool.h"
#include "server/protocol/binary.h"
#include "server/protocol/meta.h"

namespace server {
namespace {

using protocol::Command;
using protocol::Verb;

constexpr std::int32_t kVerbosityCommands = 2;

// After these nothing of the same batch is looked at.
bool EndsBatch(const Command& command) {
  const Verb verb = command.verb;
  return command.closes || verb == Verb::kQuit || verb == Verb::kClose || verb == Verb::kStats ||
         verb == Verb::kAdmin;
}

// What stands behind "stats" on its line.
std::string_view GroupOf(std::string_view line) {
  line.remove_prefix(std::min(line.find(' '), line.size()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line;
}

std::size_t BytesWithEnd(const Command& command) {
  return std::size_t{command.value_bytes} + command.ValueEnd().size();
}

}  // namespace

// A storage command whose value has not come whole: what it was, and the item it is received into.
// A command in error has no item; its value is thrown away.
struct Session::PendingValue {
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
  protocol::ReturnFlags flags_text;

  // `given` points into input that goes away.
  void Keep(const Command& given) {
    command = given;
    command.line = {};
    command.key = {key_text.data(), std::ranges::copy(given.key, key_text.data()).out};
    command.meta.set_text(protocol::CopyReturnFlags(given.meta.text(), &flags_text));
  }
  [[nodiscard]] cache::HashedKey key() const { return {.text = command.key, .hash = key_hash}; }
};

Session::Session(const SessionTools* tools, Input* input, int id)
    : tools_(tools), input_(input), id_(id) {}

Session::~Session() = default;

// -- From bytes to answers.

Session::Progress Session::Run() {
  tools_->reply->Begin();
  std::size_t budget = tools_->settings->requests_per_turn;
  for (;;) {
    if (pending_ && !ContinueValue()) return Progress::kNeedsInput;
    const std::size_t count = Assemble(std::min(budget, kBatchMax));
    if (count == 0) {
      const bool is_partial = !input_->View().empty();
      input_->Release();
      if (is_partial ? !input_->Join(needed_bytes_) : input_->View().empty())
        return Progress::kNeedsInput;
      continue;
    }
    last_command_s_ = tools_->cache->now().steady_s;
    const Progress progress = ExecuteBatch(count);
    input_->Release();
    if (progress != Progress::kGoesOn) return progress;
    if (tools_->reply->is_full()) return Progress::kReplyFull;
    budget -= count;
    if (budget == 0 && !input_->is_empty()) return Progress::kYields;
    budget = std::max<std::size_t>(budget, 1);
  }
}

std::size_t Session::Assemble(std::size_t count_max) {
  Batch& batch = *tools_->batch;
  std::size_t count = 0;
  while (count < count_max && !input_->View().empty()) {
    batch.marks[count] = input_->Here();
    batch.parsers[count] = parser_;
    Command* command = &batch.commands[count];
    const protocol::Parsed parsed = Parse(command, &batch.decoded_keys[count]);
    input_->Consume(parsed.consumed_bytes);
    if (parsed.outcome == protocol::Parsed::Outcome::kNeedsMore) {
      needed_bytes_ = parsed.needed_bytes;
      break;
    }
    ++count;
    if (EndsBatch(*command) || (command->has_value && !TakeValue(command))) break;
  }
  return count;
}

protocol::Parsed Session::Parse(Command* command, protocol::DecodedKey* room) {
  const std::string_view view = input_->View();
  if (!protocol_is_known_) {
    const Protocols allowed = tools_->settings->protocols;
    const bool begins_frame = view.front() == protocol::kBinaryRequestMagic;
    is_binary_ = allowed == Protocols::kBinary || (allowed != Protocols::kText && begins_frame);
    protocol_is_known_ = true;
  }
  return is_binary_ ? protocol::ParseBinary(view, command) : parser_.Parse(view, command, room);
}

bool Session::TakeValue(Command* command) {
  const std::string_view view = input_->View();
  const std::size_t value_bytes = command->value_bytes;
  const std::string_view end = command->ValueEnd();
  if (view.size() < value_bytes + end.size()) return false;
  command->value = view.substr(0, value_bytes);
  command->value_is_whole = true;
  command->value_is_ended = view.substr(value_bytes, end.size()) == end;
  input_->Consume(value_bytes + end.size());
  return true;
}

void Session::HashBatch(std::size_t count) {
  Batch& batch = *tools_->batch;
  cache::Cache& cache = *tools_->cache;
  for (std::size_t index = 0; index < count; ++index) {
    batch.keys[index] = cache.Hash(batch.commands[index].key);
  }
  if (count == 1) return;  // Nothing to overlap with.
  for (std::size_t index = 0; index < count; ++index) cache.PrefetchBucket(batch.keys[index]);
  for (std::size_t index = 0; index < count; ++index) cache.PrefetchItem(batch.keys[index]);
}

Session::Progress Session::ExecuteBatch(std::size_t count) {
  if (tools_->settings->verbosity.load(std::memory_order_relaxed) >= kVerbosityCommands) {
    LogBatch(count);
  }
  HashBatch(count);
  Batch& batch = *tools_->batch;
  for (std::size_t index = 0; index < count; ++index) {
    if (index != 0 && tools_->reply->is_full()) {
      input_->GoBack(batch.marks[index]);
      parser_ = batch.parsers[index];
      return Progress::kReplyFull;
    }
    const Command& command = batch.commands[index];
    if (command.has_value && !command.value_is_whole) {
      BeginValue(command, batch.keys[index]);
      return Progress::kGoesOn;
    }
    const Action action = tools_->executor->Execute(command, batch.keys[index]);
    if (action != Action::kGoOn) return Follow(action, command);
  }
  return Progress::kGoesOn;
}

// -vv: what clients ask for.
void Session::LogBatch(std::size_t count) const {
  const Batch& batch = *tools_->batch;
  for (std::size_t index = 0; index < count; ++index) {
    const Command& command = batch.commands[index];
    spdlog::debug("<{} {} {}", id_, protocol::NameOf(command.verb),
                  command.line.empty() ? command.key : command.line);
  }
}

Session::Progress Session::Follow(Action action, const Command& command) {
  if (action == Action::kStats) {
    const bool is_binary = command.dialect == protocol::Dialect::kBinary;
    stats_request_ = {.group = std::string(is_binary ? command.key : GroupOf(command.line)),
                      .dialect = command.dialect,
                      .frame = command.binary};
    return Progress::kWantsStats;
  }
  if (action == Action::kDump) {
    dump_request_ = tools_->executor->dump_request();
    return Progress::kWantsDump;
  }
  return action == Action::kShutDown ? Progress::kShutsDown : Progress::kCloses;
}

// -- Values that come in parts.

void Session::BeginValue(const Command& command, const cache::HashedKey& key) {
  pending_ = std::make_unique<PendingValue>();
  pending_->missing_bytes = BytesWithEnd(command);
  if (command.verb == Verb::kError) {
    pending_->command.dialect = command.dialect;
    tools_->executor->Execute(command, key);
    return;
  }
  pending_->Keep(command);
  pending_->key_hash = key.hash;
  tools_->executor->BeginStore(command, key, &pending_->draft);
}

bool Session::ContinueValue() {
  for (;;) {
    const std::string_view view = input_->View();
    const std::size_t taken_bytes = std::min<std::size_t>(view.size(), pending_->missing_bytes);
    TakeValueBytes(view.substr(0, taken_bytes));
    input_->Consume(taken_bytes);
    if (pending_->missing_bytes == 0) break;
    input_->Release();
    if (input_->View().empty()) return false;
  }
  FinishValue();
  input_->Release();
  return true;
}

void Session::TakeValueBytes(std::string_view bytes) {
  PendingValue& pending = *pending_;
  const std::string_view end = pending.command.ValueEnd();
  const std::uint64_t end_bytes = end.size();
  if (pending.missing_bytes > end_bytes) {
    const std::string_view value = bytes.substr(0, pending.missing_bytes - end_bytes);
    if (pending.draft.is_open() && !pending.draft.Append(value)) {
      pending.draft = cache::Draft();
      tools_->executor->FailStore(pending.command, pending.key());
    }
    pending.missing_bytes -= value.size();
    bytes.remove_prefix(value.size());
  }
  if (bytes.empty()) return;
  const std::string_view expected = end.substr(end_bytes - pending.missing_bytes, bytes.size());
  pending.is_ended &= bytes == expected;
  pending.missing_bytes -= bytes.size();
}

void Session::FinishValue() {
  const std::unique_ptr<PendingValue> pending = std::move(pending_);
  if (!pending->draft.is_open()) return;  // It has been answered.
  tools_->executor->FinishStore(pending->command, &pending->draft, pending->is_ended);
}

}  // namespace server
