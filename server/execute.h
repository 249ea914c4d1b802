// Executor: carries commands out against the cache and writes their answers.
//
// It knows every verb and every answer of the protocols, and counts hits and misses. It knows
// nothing of sockets. What cannot be answered at once (statistics, which must be folded first) is
// handed back to the connection as an Action.
//
// Owner: the worker. Threads: its own.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/answers.h"
#include "server/cache/cache.h"
#include "server/clock.h"
#include "server/dump.h"
#include "server/prefix_stats.h"
#include "server/protocol/command.h"
#include "server/protocol/tokens.h"
#include "server/reply.h"
#include "server/settings.h"
#include "stats/block.h"

namespace server {

// What the connection has to do after a command.
enum class Action : std::uint8_t {
  kGoOn,
  kClose,     // Send what there is, then close.
  kStats,     // Answer command.line once the statistics have been folded.
  kDump,      // Write out dump_request().
  kShutDown,  // Stop the server.
};

class Executor {
 public:
  Executor(cache::Cache* cache, Reply* reply, stats::Block* block, PrefixStats* prefixes,
           Clock* clock, Settings* settings)
      : cache_(cache),
        reply_(reply),
        answers_(reply, cache),
        block_(block),
        prefixes_(prefixes),
        clock_(clock),
        settings_(settings) {}

  Action Execute(const protocol::Command& command, const cache::HashedKey& key);

  // A storage command whose value is still on its way: makes the item to receive it into. False:
  // the command has been answered with an error; its value is to be thrown away.
  bool BeginStore(const protocol::Command& command, const cache::HashedKey& key,
                  cache::Draft* draft);
  // The value is complete; `is_ended`: CRLF stood behind it.
  void FinishStore(const protocol::Command& command, cache::Draft* draft, bool is_ended);
  // What the last kDump asked for.
  [[nodiscard]] const DumpRequest& dump_request() const { return dump_request_; }
  // The draft found no more memory.
  void FailStore(const protocol::Command& command, const cache::HashedKey& key);

 private:
  void Get(const protocol::Command& command, const cache::HashedKey& key);
  cache::Item* Fetch(const protocol::Command& command, const cache::HashedKey& key);
  void CountMiss();
  [[nodiscard]] bool CountsPrefixes() const {
    return settings_->counts_prefixes.load(std::memory_order_relaxed);
  }
  void Store(const protocol::Command& command, const cache::HashedKey& key);
  void Touch(const protocol::Command& command, const cache::HashedKey& key);
  void Delete(const protocol::Command& command, const cache::HashedKey& key);
  void AddDelta(const protocol::Command& command, const cache::HashedKey& key);
  // The meta commands' own: execute_meta.cpp.
  void MetaGet(const protocol::Command& command, const cache::HashedKey& key);
  cache::Item* Vivify(const protocol::Command& command, const cache::HashedKey& key,
                      bool* is_created);
  MetaFound Recache(const protocol::Command& command, cache::Item* item, bool is_created);
  [[nodiscard]] std::int64_t RecacheSeconds(const protocol::Command& command) const;
  void MetaDelete(const protocol::Command& command, const cache::HashedKey& key);
  void MarkStale(const protocol::Command& command, cache::Item* item);
  Outcome Empty(const protocol::Command& command, const cache::HashedKey& key, cache::Item* item);
  void MetaDebug(const protocol::Command& command, const cache::HashedKey& key);
  void FlushAll(const protocol::Command& command);
  void SetVerbosity(const protocol::Command& command);
  Action Admin(const protocol::Command& command);
  Action BeginDump(const protocol::Tokens& tokens);
  void DebugTime(std::string_view argument);
  void DropOld(const protocol::Command& command, const cache::HashedKey& key);
  void CountStored(const cache::Stored& stored, bool is_cas);

  cache::Cache* cache_;
  Reply* reply_;
  Answers answers_;
  stats::Block* block_;
  PrefixStats* prefixes_;
  Clock* clock_;
  Settings* settings_;
  DumpRequest dump_request_;
};

}  // namespace server
