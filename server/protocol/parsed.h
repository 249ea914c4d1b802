// Parsed: what a parser says of the bytes it was shown.
//
// Threads: values; any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace protocol {

struct Parsed {
  enum class Outcome : std::uint8_t { kCommand, kNeedsMore };
  Outcome outcome = Outcome::kNeedsMore;
  std::size_t consumed_bytes = 0;  // May be above 0 also when more is needed.
  std::size_t needed_bytes = 0;    // kNeedsMore: of what is left, in all; 0: up to a line end.
};

}  // namespace protocol
