// Resume: runs a coroutine of this thread, then whatever it hands on to.
//
// A coroutine that awaits a child, or ends and has a parent, does not call the other: it hands
// over, and the loop in Resume runs that one next. The stack never grows with the depth of awaits,
// in any build and with any compiler (symmetric transfer overflows it in unoptimised and sanitized
// g++ builds).
//
// Threads: each thread runs its own coroutines; nothing here is shared.
#pragma once

#include <coroutine>
#include <utility>

#include "coro/ensure.h"

namespace coro {

// The coroutine to run when the present one has suspended. Set only by HandOver.
inline thread_local std::coroutine_handle<> handed_over;

// Called while a coroutine suspends: Resume runs `next` as soon as it has.
inline void HandOver(std::coroutine_handle<> next) {
  DEBUG_ENSURE(!handed_over);
  handed_over = next;
}

// Runs `coroutine` until it suspends, then what it handed over to, and so on. May be called from
// within a running coroutine; that one goes on when Resume returns.
inline void Resume(std::coroutine_handle<> coroutine) {
  while (coroutine) {
    coroutine.resume();
    coroutine = std::exchange(handed_over, nullptr);
  }
}

}  // namespace coro
