#include "uring/setup.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace uring {
namespace {

// kernel.io_uring_disabled, or -1 where the kernel has no such setting (before 6.6).
int DisabledSetting() {
  std::ifstream file("/proc/sys/kernel/io_uring_disabled");
  int value = -1;
  file >> value;
  return file ? value : -1;
}

std::string ExplainRefusal() {
  const int disabled = DisabledSetting();
  if (disabled == 2) {
    return "io_uring is refused: kernel.io_uring_disabled is 2; set it to 0 (sysctl -w "
           "kernel.io_uring_disabled=0)";
  }
  if (disabled == 1) {
    return "io_uring is refused: kernel.io_uring_disabled is 1; set it to 0, or run as a member of "
           "the group "
           "named by kernel.io_uring_group";
  }
  return "io_uring is refused by a seccomp profile (Docker and containerd do so by default); run "
         "with "
         "--security-opt seccomp=deploy/seccomp.json";
}

std::string ExplainMemlock(const RingOptions& options) {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const std::string now = limit.rlim_cur == RLIM_INFINITY
                              ? std::string("unlimited")
                              : std::to_string(limit.rlim_cur / 1024) + " KiB";
  return "no memory for a ring of " + std::to_string(options.sq_entries) + "/" +
         std::to_string(options.cq_entries) + " entries: the locked-memory limit (ulimit -l) is " +
         now +
         " for all processes of this user; raise it (--ulimit memlock=-1, LimitMEMLOCK=infinity), "
         "or use "
         "fewer --threads or a smaller --ring-depth and --cq-depth";
}

}  // namespace

std::string ExplainSetupFailure(int error, const RingOptions& options) {
  switch (error) {
    case ENOSYS:
      return "io_uring is not there: the kernel is older than 5.19 or a seccomp profile hides it "
             "(podman does "
             "so by default); run with --security-opt seccomp=deploy/seccomp.json";
    case EPERM:
    case EACCES:
      return ExplainRefusal();
    case ENOMEM:
      return ExplainMemlock(options);
    case EINVAL:
    case EOPNOTSUPP:
      return "this kernel's io_uring is too old: Linux 6.0 or later is needed";
    case EMFILE:
    case ENFILE:
      return "no file descriptor is left for a ring; raise the limit (ulimit -n)";
    default:
      return std::string("io_uring cannot be set up: ") + std::strerror(error);
  }
}

}  // namespace uring
