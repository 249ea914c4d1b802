// RingOptions: what a ring is made with, and why making one failed.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <string>

namespace uring {

struct RingOptions {
  std::uint32_t sq_entries = 1024;  // Submission queue: a power of two is used.
  std::uint32_t cq_entries = 8192;  // Completion queue.
  std::uint32_t buffer_count =
      256;  // Provided receive buffers: a power of two; 0: the ring receives nothing.
  std::uint32_t buffer_bytes = 16384;
  // For tests: behave as a kernel that lacks these set-up flags or features.
  std::uint32_t setup_flags_denied = 0;
  bool deny_msg_ring = false;
  bool deny_multishot = false;
};

// One line for the user: what `error` (a positive errno of ring set-up) means here and what to
// change. Looks at kernel.io_uring_disabled and the memlock limit to tell causes apart.
std::string ExplainSetupFailure(int error, const RingOptions& options);

}  // namespace uring
