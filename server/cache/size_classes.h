// SizeClasses: the list of slot sizes that pages are cut into.
//
// Sizes grow by a factor, in steps of 8 bytes rounded down but never by less than 8, and each is
// then stretched to what the page holds anyway, so that little is left at a page's end. Classes
// are numbered from 1, smallest first.
//
// Owner: the SharedCache. Threads: immutable once made; any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cache {

class SizeClasses {
 public:
  static constexpr std::size_t kCountMax = 255;
  static constexpr std::size_t kStepBytes = 8;

  // `slot_bytes_min` and `slot_bytes_max` are multiples of kStepBytes; the largest class is
  // exactly `slot_bytes_max`, which is at most `page_bytes`. `factor` is above 1.
  SizeClasses(std::size_t page_bytes, std::size_t slot_bytes_min, std::size_t slot_bytes_max,
              double factor);

  [[nodiscard]] std::size_t count() const { return slot_bytes_.size() - 1; }
  [[nodiscard]] std::uint8_t largest() const { return static_cast<std::uint8_t>(count()); }
  [[nodiscard]] std::size_t SlotBytes(std::uint8_t class_id) const { return slot_bytes_[class_id]; }
  [[nodiscard]] std::uint32_t SlotsPerPage(std::uint8_t class_id) const {
    return static_cast<std::uint32_t>(page_bytes_ / slot_bytes_[class_id]);
  }
  // The smallest class whose slots hold `bytes`; 0 when none does.
  [[nodiscard]] std::uint8_t ClassFor(std::size_t bytes) const {
    return bytes <= kSmallBytesMax ? small_[(bytes + kStepBytes - 1) / kStepBytes]
                                   : ClassForLarge(bytes);
  }

 private:
  static constexpr std::size_t kSmallBytesMax = 4096;

  [[nodiscard]] std::uint8_t ClassForLarge(std::size_t bytes) const;

  std::size_t page_bytes_;
  std::vector<std::size_t> slot_bytes_;  // [0] is unused.
  std::array<std::uint8_t, kSmallBytesMax / kStepBytes + 1> small_{};
};

}  // namespace cache
