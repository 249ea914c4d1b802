// Answers: words what came of a command, as the protocol it was asked in has it.
//
// The classic words are in answers.cpp, those of the meta commands in answers_meta.cpp, binary
// frames in answers_binary.cpp.
//
// Owner: the Executor. Threads: the worker's.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/cache/cache.h"
#include "server/protocol/binary.h"
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

// The classic protocol's answer, with its CRLF.
std::string_view WordsOf(Outcome outcome);

// The item now stored, where there is one.
struct Told {
  std::uint64_t cas = 0;
  std::uint32_t value_bytes = 0;
};

// What differs from one binary answer's header to the other's.
struct BinaryHead {
  protocol::BinaryStatus status = protocol::BinaryStatus::kOk;
  std::uint16_t key_bytes = 0;
  std::uint8_t extras_bytes = 0;
  std::uint32_t body_bytes = 0;
  std::uint64_t cas = 0;
};
// Writes kBinaryHeaderBytes; returns the end.
char* WriteBinaryHeader(char* to, const protocol::BinaryFrame& frame, const BinaryHead& head);

// What a meta get has found, as it was before the command touched it.
struct MetaFound {
  cache::Item* item = nullptr;
  cache::Expiry old_expiry = cache::Expiry::Never();
  cache::Expiry expiry = cache::Expiry::Never();  // With T: the new one.
  std::uint32_t idle_s = 0;                       // Since its last access.
  bool is_created = false;                        // By this command.
  bool was_fetched = false;
  bool shows_value = false;
  bool token_was_sent = false;
  bool is_stale = false;
  bool has_won = false;
};

class Answers {
 public:
  Answers(Reply* reply, const cache::Cache* cache) : reply_(reply), cache_(cache) {}

  // A get or gat has found its key, or not.
  void Hit(const protocol::Command& command, cache::Item* item);
  void Miss(const protocol::Command& command);
  void Tell(const protocol::Command& command, Outcome outcome, const Told& told = {});
  // incr or decr has been done.
  void Number(const protocol::Command& command, const cache::Delta& delta);
  void MetaHit(const protocol::Command& command, const MetaFound& found);
  // EN, which a quiet mg leaves out.
  void MetaMiss(const protocol::Command& command);
  void MetaDebug(const cache::Item* item);
  // The names of the ways to authenticate, with blanks between.
  void SaslList(const protocol::Command& command, std::string_view names);
  void Noop(const protocol::Command& command);
  void Version(const protocol::Command& command);
  // Before the connection closes.
  void Quit(const protocol::Command& command);
  // A command that the parser refused.
  void Refuse(const protocol::Command& command);

 private:
  void ClassicHit(cache::Item* item, bool wants_cas);
  void MetaTell(const protocol::Command& command, Outcome outcome, const Told& told);
  void MetaNumber(const protocol::Command& command, const cache::Delta& delta);
  void BinaryHit(const protocol::Command& command, cache::Item* item);
  void BinaryMiss(const protocol::Command& command);
  void BinaryTell(const protocol::Command& command, Outcome outcome, const Told& told);
  void BinaryNumber(const protocol::Command& command, const cache::Delta& delta);
  void BinaryEmpty(const protocol::Command& command, std::uint64_t cas);
  void BinaryError(const protocol::Command& command, protocol::BinaryStatus status);
  void BinaryText(const protocol::Command& command, protocol::BinaryStatus status,
                  std::string_view text);

  Reply* reply_;
  const cache::Cache* cache_;
};

}  // namespace server
