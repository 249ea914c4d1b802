// What `stats` answers, group by group.
//
// Every key that memcached prints is printed, with a true value or, where ringcached has no such
// mechanism, 0: exporters break on missing keys. How the lines are put on the wire is the
// protocol's matter: WordStats.
//
// Threads: a worker's; reads the server's settings and the folded sum.
#pragma once

#include <fmt/format.h>
#include <sys/time.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/aggregator.h"
#include "server/dump.h"
#include "server/stats_request.h"
#include "server/worker.h"

namespace server {

// What came of `stats ...`.
struct StatsAnswer {
  enum class Kind : std::uint8_t {
    kLines,    // Names and values.
    kText,     // As the classic protocol has it; in binary an error.
    kDone,     // `text`; in binary, what it is beside OK stands under `name`.
    kDump,     // A walk over the items, written as it goes; in binary an error.
    kSizes,    // A walk that counts: SizeLines().
    kReset,    // The counters begin anew.
    kUnknown,  // There is no such group.
  };
  Kind kind = Kind::kUnknown;
  std::vector<std::pair<std::string, std::string>> lines;
  std::string text;
  std::string name;
  DumpRequest dump;
};

// Names and values, in order.
class StatLines {
 public:
  template <typename Value>
  void Add(std::string_view name, const Value& value) {
    lines_.emplace_back(name, fmt::to_string(value));
  }
  // memcached's mechanisms that have no counterpart here.
  void AddZeros(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) Add(name, 0);
  }
  void AddYesNo(std::string_view name, bool value) { Add(name, value ? "yes" : "no"); }
  void AddSeconds(std::string_view name, const timeval& time) {
    Add(name, fmt::format("{}.{:06}", time.tv_sec, time.tv_usec));
  }
  StatsAnswer Finish() {
    StatsAnswer answer;
    answer.kind = StatsAnswer::Kind::kLines;
    answer.lines = std::move(lines_);
    return answer;
  }

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
};

// The groups `items` and `slabs`: stats_classes.cpp.
StatsAnswer ItemsGroup(const cache::SharedCache& cache, const stats::Snapshot& sum);
StatsAnswer SlabsGroup(const cache::SharedCache& cache, const stats::Snapshot& sum);

// The lines for kSizes.
StatsAnswer SizeLines(const Dump::SizeCounts& counts);

// `group`: what stands behind "stats".
bool AsksReset(std::string_view group);

// Answers from the sum that the ticket holds.
StatsAnswer AnswerStats(std::string_view group, Worker& worker, const FoldTicket& ticket);

// The answer as the protocol it was asked in words it, with its end.
std::string WordStats(const StatsRequest& request, const StatsAnswer& answer);

}  // namespace server
