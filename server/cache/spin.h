// Spin: waiting for something that takes another thread some tens of nanoseconds, unless it was
// preempted: then the processor is given away.
//
// Owner: a loop. Threads: its own.
#pragma once

#include <sched.h>

namespace cache {

class Spin {
 public:
  void Wait() {
    if (++rounds_ < kPauses) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    } else {
      sched_yield();
    }
  }

 private:
  static constexpr unsigned kPauses = 128;
  unsigned rounds_ = 0;
};

}  // namespace cache
