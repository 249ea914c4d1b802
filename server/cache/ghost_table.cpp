#include "server/cache/ghost_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace cache {
namespace {

constexpr unsigned kLaneBits = 16;
constexpr std::uint64_t kLaneMask = 0xffff;
constexpr std::uint64_t kLanesLow = 0x0001000100010001;
constexpr std::uint64_t kLanesHigh = 0x8000800080008000;

// Not zero, which is no key.
std::uint64_t FingerprintOf(std::uint64_t hash) {
  const std::uint64_t fingerprint = hash & kLaneMask;
  return fingerprint != 0 ? fingerprint : 1;
}

// The high bit of each lane that is zero; above a zero lane others may show too.
std::uint64_t ZeroLanes(std::uint64_t word) { return (word - kLanesLow) & ~word & kLanesHigh; }

}  // namespace

std::unique_ptr<GhostTable> GhostTable::Reserve(std::size_t key_count_max, std::string* error) {
  const std::size_t line_count = key_count_max / kKeysPerLine + 1;
  void* mapping = mmap(nullptr, line_count * sizeof(Line), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    *error = "cannot reserve " + std::to_string(line_count * sizeof(Line) >> 20U) +
             " MB of address space for keys that left: " + std::strerror(errno) +
             "; lower the memory limit (-m)";
    return nullptr;
  }
  return std::unique_ptr<GhostTable>(new GhostTable(static_cast<Line*>(mapping), line_count));
}

GhostTable::~GhostTable() { munmap(static_cast<void*>(lines_), line_count_max_ * sizeof(Line)); }

// By bits that the fingerprint does not use.
GhostTable::Line& GhostTable::LineOf(std::uint64_t hash) const {
  return lines_[((hash >> 32U) * line_count()) >> 32U];
}

void GhostTable::Add(std::uint64_t hash) {
  Line& line = LineOf(hash);
  const std::uint64_t head = line.words[0].load(std::memory_order_relaxed);
  const std::uint64_t next = (head & kLaneMask) % kKeysPerLine;
  line.words[0].store((head & ~kLaneMask) | (next + 1), std::memory_order_relaxed);
  const std::uint64_t lane = next + 1;
  std::atomic<std::uint64_t>& word = line.words[lane / 4];
  const auto shift = static_cast<unsigned>(lane % 4) * kLaneBits;
  const std::uint64_t others = word.load(std::memory_order_relaxed) & ~(kLaneMask << shift);
  word.store(others | FingerprintOf(hash) << shift, std::memory_order_relaxed);
}

bool GhostTable::Take(std::uint64_t hash) {
  Line& line = LineOf(hash);
  const std::uint64_t wanted = FingerprintOf(hash) * kLanesLow;
  for (std::size_t at = 0; at < kWords; ++at) {
    const std::uint64_t word = line.words[at].load(std::memory_order_relaxed);
    std::uint64_t found = ZeroLanes(word ^ wanted);
    if (at == 0) found &= ~kLaneMask;
    if (found == 0) continue;
    const auto shift = static_cast<unsigned>(std::countr_zero(found)) / kLaneBits * kLaneBits;
    if (((word ^ wanted) >> shift & kLaneMask) != 0) continue;
    line.words[at].store(word & ~(kLaneMask << shift), std::memory_order_relaxed);
    return true;
  }
  return false;
}

void GhostTable::Fit(std::size_t key_count) {
  const std::size_t wanted = std::clamp<std::size_t>(key_count / kKeysPerLine, 1, line_count_max_);
  const std::size_t is = line_count();
  if (wanted > is + is / 4 || wanted < is / 2) {
    line_count_.store(wanted, std::memory_order_relaxed);
  }
}

}  // namespace cache
