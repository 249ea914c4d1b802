// Answers: words what came of a command, as the protocol it was asked in has it.
//
// Owner: the Executor. Threads: the worker's.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/cache/cache.h"
#include "server/protocol/command.h"
#include "server/reply.h"

namespace server {

// What came of a command that has no value to show.
enum class Outcome : std::uint8_t {
  kOk,
  kStored,
  kNotStored,
  kExists,
  kNotFound,
  kDeleted,
  kTouched,
  kTooLarge,
  kNoMemoryStoring,
  kNoMemory,
  kNonNumeric,
  kBadDataChunk,
  kFlushNotAllowed,
  kUnknown,  // There is no such command.
};

class Answers {
 public:
  explicit Answers(Reply* reply) : reply_(reply) {}

  // A get or gat has found its key, or not.
  void Hit(const protocol::Command& command, cache::Item* item);
  void Miss(const protocol::Command& command);
  // `cas`: of the item now stored, where there is one.
  void Tell(const protocol::Command& command, Outcome outcome, std::uint64_t cas = 0);
  // The new value of incr or decr.
  void Number(const protocol::Command& command, std::uint64_t value, std::uint64_t cas);
  void Noop(const protocol::Command& command);
  void Version(const protocol::Command& command);
  // A command that the parser refused.
  void Refuse(const protocol::Command& command);

 private:
  void ClassicHit(cache::Item* item, bool wants_cas);

  Reply* reply_;
};

}  // namespace server
