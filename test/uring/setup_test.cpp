#include "uring/setup.h"

#include <dirent.h>
#include <doctest/doctest.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>

#include "test/uring/harness.h"
#include "uring/ring.h"

namespace {

using uring_test::kModes;
using uring_test::Loop;
using uring_test::Mode;
using uring_test::SmallRing;

constexpr std::uint32_t kFull =
    IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;

// The running kernel, as major * 100 + minor.
int KernelVersion() {
  utsname name{};
  uname(&name);
  char* rest = nullptr;
  const long major = std::strtol(name.release, &rest, 10);
  const long minor = std::strtol(rest + 1, nullptr, 10);
  return static_cast<int>(major * 100 + minor);
}

std::uint32_t FlagsWithout(std::uint32_t denied) {
  uring::RingOptions options = SmallRing();
  options.setup_flags_denied = denied;
  Loop loop(options);
  return loop.ring()->setup_flags();
}

TEST_CASE("a ring gets the best set-up flags that its kernel has") {
  if (KernelVersion() < 601) return;
  CHECK(FlagsWithout(0) == kFull);
}

TEST_CASE("set-up goes down the ladder flag by flag") {
  if (KernelVersion() < 601) return;
  constexpr std::uint32_t kSingle =
      IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN;
  constexpr std::uint32_t kCoop = IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN;
  CHECK(FlagsWithout(IORING_SETUP_DEFER_TASKRUN) == kSingle);
  CHECK(FlagsWithout(IORING_SETUP_SINGLE_ISSUER) == kCoop);
  CHECK(FlagsWithout(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN) ==
        IORING_SETUP_SUBMIT_ALL);
  CHECK(FlagsWithout(IORING_SETUP_SUBMIT_ALL) == 0);
  CHECK(FlagsWithout(~0U) == 0);
}

TEST_CASE("a ring has the depths that were asked for or the next powers of two") {
  uring::RingOptions options = SmallRing();
  options.sq_entries = 8;
  options.cq_entries = 16;
  Loop exact(options);
  CHECK(exact.ring()->sq_entries() == 8);
  CHECK(exact.ring()->cq_entries() == 16);
  options.sq_entries = 100;
  options.cq_entries = 300;
  Loop rounded(options);
  CHECK(rounded.ring()->sq_entries() == 128);
  CHECK(rounded.ring()->cq_entries() == 512);
}

TEST_CASE("what is denied is reported as not in use") {
  uring::RingOptions options = SmallRing();
  options.deny_msg_ring = true;
  options.deny_multishot = true;
  Loop loop(options);
  CHECK_FALSE(loop.ring()->uses_msg_ring());
  CHECK_FALSE(loop.ring()->uses_multishot());
}

TEST_CASE("a ring without buffers can be made") {
  uring::RingOptions options = SmallRing();
  options.buffer_count = 0;
  Loop loop(options);
  loop.PollTurn();
  CHECK(loop.ring()->buffers().count() == 0);
}

std::ptrdiff_t OpenDescriptorCount() {
  DIR* directory = opendir("/proc/self/fd");
  std::ptrdiff_t count = 0;
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

TEST_CASE("rings that come and go leave no descriptor behind") {
  {
    const Loop warm_up(SmallRing());
  }
  const std::ptrdiff_t count = OpenDescriptorCount();
  for (int round = 0; round < 50; ++round) Loop(SmallRing()).PollTurn();
  CHECK(OpenDescriptorCount() == count);
}

TEST_CASE("every set-up failure is explained in one line") {
  for (const int error : {ENOSYS, EPERM, EACCES, ENOMEM, EINVAL, EOPNOTSUPP, EMFILE, ENFILE, EIO}) {
    CAPTURE(error);
    const std::string text = uring::ExplainSetupFailure(error, SmallRing());
    CHECK(text.size() > 20);
    CHECK(text.find('\n') == std::string::npos);
  }
}

}  // namespace
