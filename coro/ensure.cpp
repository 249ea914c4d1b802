#include "coro/ensure.h"

#include <cstdio>
#include <cstdlib>

namespace coro {

void EnsureFailed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: ENSURE(%s) failed\n", file, line, condition);
  std::abort();
}

}  // namespace coro
