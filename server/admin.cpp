#include "server/admin.h"

#include <cstdint>

#include "server/class_list.h"
#include "server/protocol/number.h"
#include "server/protocol/words.h"

namespace server {
namespace {

using protocol::Abbreviates;
using protocol::ParseNumber;
using protocol::ParseReal;
using protocol::Tokens;
namespace words = protocol::words;

constexpr std::string_view kCrawlerOff = "CLIENT_ERROR lru crawler disabled\r\n";

// -- slabs

std::string_view Reassign(const Tokens& tokens, cache::SharedCache* cache) {
  const auto from = ParseNumber<std::int32_t>(tokens[2]);
  const auto to = ParseNumber<std::int32_t>(tokens[3]);
  if (!from || !to) return words::kBadFormat;
  switch (cache->Reassign(*from, *to)) {
    case cache::Reassigned::kOk:
      return words::kOk;
    case cache::Reassigned::kBusy:
      return "BUSY currently processing reassign request\r\n";
    case cache::Reassigned::kBadClass:
      return "BADCLASS invalid src or dst class id\r\n";
    case cache::Reassigned::kNoSpare:
      return "NOSPARE source class has no spare pages\r\n";
    case cache::Reassigned::kSame:
      return "SAME src and dst class are identical\r\n";
  }
  return words::kError;
}

std::string_view TuneAutomove(const Tokens& tokens, Settings* settings) {
  constexpr std::uint32_t kWindowMin = 3;
  constexpr std::uint32_t kWindowMax = 1800;
  if (tokens.count < 4) return words::kError;
  if (tokens[2] == "window") {
    const auto window_s = ParseNumber<std::uint32_t>(tokens[3]);
    if (!window_s) return words::kBadFormat;
    if (*window_s < kWindowMin || *window_s > kWindowMax) {
      return "CLIENT_ERROR automove window too low or too high\r\n";
    }
    settings->lru.automove_window_s.store(*window_s, std::memory_order_relaxed);
    return words::kOk;
  }
  const auto ratio = ParseReal(tokens[3]);
  if (!ratio) return words::kError;
  auto& kept =
      tokens[2] == "ratio" ? settings->lru.automove_ratio : settings->lru.automove_freeratio;
  kept.store(*ratio, std::memory_order_relaxed);
  return words::kOk;
}

std::string_view SetAutomove(const Tokens& tokens, cache::SharedCache* cache, Settings* settings) {
  if (tokens[2] == "ratio" || tokens[2] == "freeratio" || tokens[2] == "window") {
    return TuneAutomove(tokens, settings);
  }
  const auto level = ParseNumber<std::uint32_t>(tokens[2]);
  if (!level) return words::kBadFormat;
  if (*level > 2) return words::kError;
  cache->SetAutomove(static_cast<cache::Automove>(*level));
  return words::kOk;
}

std::string_view Slabs(const Tokens& tokens, cache::SharedCache* cache, Settings* settings) {
  if (tokens.count == 4 && Abbreviates(tokens[1], "reassign")) return Reassign(tokens, cache);
  if (tokens.count >= 3 && Abbreviates(tokens[1], "automove")) {
    return SetAutomove(tokens, cache, settings);
  }
  return words::kError;
}

// -- lru

std::string_view TuneLru(const Tokens& tokens, LruSettings* lru) {
  constexpr std::uint32_t kPercentMax = 80;
  const auto hot = ParseNumber<std::uint32_t>(tokens[2]);
  const auto warm = ParseNumber<std::uint32_t>(tokens[3]);
  const auto hot_factor = ParseReal(tokens[4]);
  const auto warm_factor = ParseReal(tokens[5]);
  if (!hot || !warm || !hot_factor || !warm_factor) return words::kError;
  if (std::uint64_t{*hot} + *warm > kPercentMax) {
    return "ERROR hot and warm pcts must not exceed 80\r\n";
  }
  if (*hot_factor <= 0 || *warm_factor <= 0) {
    return "ERROR hot/warm age factors must be greater than 0\r\n";
  }
  lru->hot_percent.store(*hot, std::memory_order_relaxed);
  lru->warm_percent.store(*warm, std::memory_order_relaxed);
  lru->hot_factor.store(*hot_factor, std::memory_order_relaxed);
  lru->warm_factor.store(*warm_factor, std::memory_order_relaxed);
  return words::kOk;
}

std::string_view Lru(const Tokens& tokens, LruSettings* lru) {
  if (tokens.count >= 6 && Abbreviates(tokens[1], "tune")) return TuneLru(tokens, lru);
  if (tokens.count >= 3 && Abbreviates(tokens[1], "mode")) {
    const bool is_known = tokens[2] == "flat" || tokens[2] == "segmented";
    if (is_known) lru->is_segmented.store(tokens[2] == "segmented", std::memory_order_relaxed);
    return is_known ? words::kOk : words::kError;
  }
  if (tokens.count >= 3 && Abbreviates(tokens[1], "temp_ttl")) {
    const auto ttl_s = ParseNumber<std::int32_t>(tokens[2]);
    if (ttl_s) lru->temporary_ttl_s.store(*ttl_s, std::memory_order_relaxed);
    return ttl_s ? words::kOk : words::kError;
  }
  return words::kError;
}

// -- lru_crawler

// All that is asked for is done all the time; only whether there is such a class is to be said.
std::string_view Crawl(std::string_view classes, const cache::SharedCache& cache,
                       const LruSettings& lru) {
  if (!lru.crawls.load(std::memory_order_relaxed)) return kCrawlerOff;
  return ReadClassList(classes, cache.class_count()) ? words::kOk : kBadClass;
}

std::string_view SetCrawlerPace(const Tokens& tokens, LruSettings* lru) {
  constexpr std::uint32_t kSleepMaxUs = 1'000'000;
  const auto number = ParseNumber<std::uint32_t>(tokens[2]);
  if (!number) return words::kBadFormat;
  if (Abbreviates(tokens[1], "tocrawl")) {
    lru->crawl_count.store(*number, std::memory_order_relaxed);
    return words::kOk;
  }
  if (*number > kSleepMaxUs) return "CLIENT_ERROR sleep must be one second or less\r\n";
  lru->crawl_sleep_us.store(*number, std::memory_order_relaxed);
  return words::kOk;
}

std::string_view Crawler(const Tokens& tokens, const cache::SharedCache& cache, LruSettings* lru) {
  if (tokens.count == 3 && Abbreviates(tokens[1], "crawl")) return Crawl(tokens[2], cache, *lru);
  if (tokens.count == 3 && (Abbreviates(tokens[1], "sleep") || Abbreviates(tokens[1], "tocrawl"))) {
    return SetCrawlerPace(tokens, lru);
  }
  if (tokens.count != 2) return words::kError;
  const bool enables = Abbreviates(tokens[1], "enable");
  if (!enables && !Abbreviates(tokens[1], "disable")) return words::kError;
  lru->crawls.store(enables, std::memory_order_relaxed);
  return words::kOk;
}

// -- cache_memlimit

std::string_view SetMemoryLimit(const Tokens& tokens, cache::SharedCache* cache) {
  constexpr std::uint32_t kMegabytesMin = 8;
  constexpr std::uint32_t kMegabytesMax = 1'000'000'000;
  const auto megabytes = ParseNumber<std::uint32_t>(tokens[1]);
  if (!megabytes) return words::kError;
  if (*megabytes < kMegabytesMin) {
    return "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n";
  }
  if (*megabytes > kMegabytesMax) {
    return "MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n";
  }
  const auto change = cache->SetMemoryLimit(std::size_t{*megabytes} << 20);
  return change == cache::LimitChange::kOk
             ? words::kOk
             : "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n";
}

}  // namespace

std::string_view AnswerAdmin(const Tokens& tokens, cache::SharedCache* cache, Settings* settings) {
  if (tokens[0] == "slabs") return Slabs(tokens, cache, settings);
  if (tokens[0] == "lru") return Lru(tokens, &settings->lru);
  if (tokens[0] == "lru_crawler") return Crawler(tokens, *cache, &settings->lru);
  if (tokens[0] == "cache_memlimit") return SetMemoryLimit(tokens, cache);
  return words::kError;
}

}  // namespace server
