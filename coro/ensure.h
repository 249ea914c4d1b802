// ENSURE: our own mistakes stop the program, in release builds too.
//
// ENSURE(condition) prints the condition with its place and aborts when it does not hold.
// DEBUG_ENSURE(condition) does the same in builds without NDEBUG and is not evaluated elsewhere:
// for checks too dear for the request path. What the world or a client does wrong is never an
// ENSURE.
//
// Threads: any.
#pragma once

namespace coro {

// Prints "file:line: ENSURE(condition) failed" to stderr and aborts.
[[noreturn]] void EnsureFailed(const char* condition, const char* file, int line) noexcept;

}  // namespace coro

#define ENSURE(condition)                                                                   \
  (__builtin_expect(!(condition), 0) ? ::coro::EnsureFailed(#condition, __FILE__, __LINE__) \
                                     : static_cast<void>(0))

#ifdef NDEBUG
#define DEBUG_ENSURE(condition) static_cast<void>(sizeof(!(condition)))
#else
#define DEBUG_ENSURE(condition) ENSURE(condition)
#endif
