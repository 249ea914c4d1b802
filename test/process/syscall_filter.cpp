#include "test/process/syscall_filter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace process {
namespace {

constexpr sock_filter Statement(unsigned code, std::uint32_t value) {
  return {static_cast<std::uint16_t>(code), 0, 0, value};
}

constexpr sock_filter SkipOneUnlessEqual(std::uint32_t value) {
  return {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value};
}

}  // namespace

bool RefuseSystemCall(int number, int error) {
  std::array filter = {
      Statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      SkipOneUnlessEqual(static_cast<std::uint32_t>(number)),
      Statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
      Statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {.len = filter.size(), .filter = filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace process
