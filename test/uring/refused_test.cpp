// Where io_uring is refused: a seccomp profile, the sysctl, the memlock limit, no descriptor left.
// Each is made so in a child process.
#include <doctest/doctest.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "coro/ensure.h"
#include "test/process/child.h"
#include "test/process/syscall_filter.h"
#include "test/uring/harness.h"
#include "uring/ring.h"
#include "uring/setup.h"

namespace {

using process::ChildEnd;
using process::RunInChild;
using uring_test::SmallRing;

constexpr int kSkipped = 77;

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// In a child: tries to make a ring, prints the explanation, returns the error.
int TryRing(const uring::RingOptions& options = SmallRing()) {
  uring::Ring ring;
  const int error = ring.Open(options);
  if (error != 0) std::printf("%s\n", uring::ExplainSetupFailure(error, options).c_str());
  return error;
}

TEST_CASE("a seccomp profile that answers EPERM is named with the cure") {
  const ChildEnd end = RunInChild([] {
    ENSURE(process::RefuseSystemCall(SYS_io_uring_setup, EPERM));
    return TryRing();
  });
  CAPTURE(end.output);
  CHECK(end.exit_status == EPERM);
  CHECK(Has(end.output, "seccomp"));
  CHECK(Has(end.output, "--security-opt seccomp="));
}

TEST_CASE("a seccomp profile that answers ENOSYS is named with the cure") {
  const ChildEnd end = RunInChild([] {
    ENSURE(process::RefuseSystemCall(SYS_io_uring_setup, ENOSYS));
    return TryRing();
  });
  CAPTURE(end.output);
  CHECK(end.exit_status == ENOSYS);
  CHECK(Has(end.output, "seccomp"));
  CHECK(Has(end.output, "--security-opt seccomp="));
}

// Puts a file that says `setting` over kernel.io_uring_disabled, for this process alone.
bool FakeDisabledSetting(const char* setting) {
  if (unshare(CLONE_NEWNS) != 0) return false;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  std::string name = "/tmp/io_uring_disabled.XXXXXX";
  const int fd = mkstemp(name.data());
  if (fd < 0) return false;
  std::FILE* file = fdopen(fd, "w");
  std::fprintf(file, "%s\n", setting);
  std::fclose(file);
  const int result =
      mount(name.c_str(), "/proc/sys/kernel/io_uring_disabled", nullptr, MS_BIND, nullptr);
  unlink(name.c_str());
  return result == 0;
}

ChildEnd RunDisabled(const char* setting) {
  return RunInChild([setting] {
    if (!FakeDisabledSetting(setting)) return kSkipped;
    ENSURE(process::RefuseSystemCall(SYS_io_uring_setup, EPERM));
    return TryRing();
  });
}

TEST_CASE("the sysctl that forbids io_uring is told from a seccomp profile") {
  const ChildEnd to_all = RunDisabled("2");
  if (to_all.exit_status == kSkipped) {
    MESSAGE("not root: cannot put a file over kernel.io_uring_disabled");
    return;
  }
  CAPTURE(to_all.output);
  CHECK(to_all.exit_status == EPERM);
  CHECK(Has(to_all.output, "kernel.io_uring_disabled is 2"));
  CHECK_FALSE(Has(to_all.output, "seccomp"));
  const ChildEnd to_others = RunDisabled("1");
  CHECK(Has(to_others.output, "kernel.io_uring_disabled is 1"));
  CHECK(Has(to_others.output, "kernel.io_uring_group"));
  CHECK(Has(RunDisabled("0").output, "seccomp"));
}

// Becomes a user without privileges, of whom no other process is likely to run.
void DropPrivileges() {
  if (geteuid() != 0) return;
  ENSURE(setgroups(0, nullptr) == 0);
  ENSURE(setgid(54321) == 0);
  ENSURE(setuid(54321) == 0);
}

void LimitMemlock(rlim_t bytes) {
  const rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
  ENSURE(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
}

TEST_CASE("a memlock limit too small for an ordinary user is named with what it is") {
  const ChildEnd end = RunInChild([] {
    LimitMemlock(4096);
    DropPrivileges();
    uring::RingOptions options = SmallRing();
    options.sq_entries = 4096;
    options.cq_entries = 16384;
    return TryRing(options);
  });
  CAPTURE(end.output);
  if (end.exit_status == 0) {
    MESSAGE("this kernel does not count rings against memlock");
    return;
  }
  CHECK(end.exit_status == ENOMEM);
  CHECK(Has(end.output, "4096/16384"));
  CHECK(Has(end.output, "4 KiB"));
  CHECK(Has(end.output, "ulimit -l"));
  CHECK(Has(end.output, "--ulimit memlock=-1"));
}

TEST_CASE("an ordinary user with the usual memlock limit gets a ring") {
  const ChildEnd end = RunInChild([] {
    if (geteuid() == 0) LimitMemlock(8 << 20);
    DropPrivileges();
    uring_test::Loop loop(SmallRing());
    loop.PollTurn();
    return 0;
  });
  CAPTURE(end.output);
  CHECK(end.exit_status == 0);
}

TEST_CASE("a ring that finds no descriptor fails at each step and leaks none") {
  const ChildEnd end = RunInChild([] {
    const int first_free = dup(STDOUT_FILENO);
    close(first_free);
    bool had_success = false;
    for (int extra = 0; extra < 8; ++extra) {
      rlimit limit{};
      getrlimit(RLIMIT_NOFILE, &limit);
      limit.rlim_cur = static_cast<rlim_t>(first_free + extra);
      ENSURE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
      const int error = TryRing();
      ENSURE(error == EMFILE || (error == 0 && extra >= 2));
      had_success = had_success || error == 0;
      const int next_free = dup(STDOUT_FILENO);
      ENSURE(extra == 0 ? next_free == -1 : next_free == first_free);
      if (next_free >= 0) close(next_free);
    }
    return had_success ? 0 : 1;
  });
  CAPTURE(end.output);
  CHECK(end.exit_status == 0);
  CHECK(Has(end.output, "ulimit -n"));
}

}  // namespace
