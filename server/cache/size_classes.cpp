#include "server/cache/size_classes.h"

#include <algorithm>

#include "coro/ensure.h"

namespace cache {
namespace {

std::size_t RoundDown(std::size_t bytes) { return bytes & ~(SizeClasses::kStepBytes - 1); }

}  // namespace

SizeClasses::SizeClasses(std::size_t page_bytes, std::size_t slot_bytes_min,
                         std::size_t slot_bytes_max, double factor)
    : page_bytes_(page_bytes), slot_bytes_{0} {
  ENSURE(factor > 1.0 && slot_bytes_min <= slot_bytes_max && slot_bytes_max <= page_bytes);
  ENSURE(RoundDown(slot_bytes_min) == slot_bytes_min);
  ENSURE(RoundDown(slot_bytes_max) == slot_bytes_max);
  std::size_t bytes = slot_bytes_min;
  while (bytes < slot_bytes_max && count() + 1 < kCountMax) {
    const std::size_t stretched = RoundDown(page_bytes / (page_bytes / bytes));
    if (stretched >= slot_bytes_max) break;
    slot_bytes_.push_back(stretched);
    const auto grown = static_cast<std::size_t>(static_cast<double>(stretched) * factor);
    bytes = std::max(RoundDown(grown), stretched + kStepBytes);
  }
  slot_bytes_.push_back(slot_bytes_max);
  for (std::size_t step = 0; step < small_.size(); ++step) {
    small_[step] = ClassForLarge(step * kStepBytes);
  }
}

std::uint8_t SizeClasses::ClassForLarge(std::size_t bytes) const {
  const auto found = std::lower_bound(slot_bytes_.begin() + 1, slot_bytes_.end(), bytes);
  if (found == slot_bytes_.end()) return 0;
  return static_cast<std::uint8_t>(found - slot_bytes_.begin());
}

}  // namespace cache
