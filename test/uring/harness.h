// What the tests of uring share: rings in every mode, a loop with a limit, sockets, patterned
// bytes.
//
// Threads: a Loop belongs to the thread that made it; the rest may be used in any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "coro/spawn.h"
#include "coro/task.h"
#include "test/process/deadline.h"
#include "uring/ring.h"

namespace uring_test {

// What a kernel may lack. Every behaviour must be the same in each.
struct Mode {
  const char* name;
  std::uint32_t setup_flags_denied;
  bool deny_msg_ring;
  bool deny_multishot;
};

inline constexpr std::array kModes = {
    Mode{"full", 0, false, false},
    Mode{"no DEFER_TASKRUN", IORING_SETUP_DEFER_TASKRUN, false, false},
    Mode{"no SINGLE_ISSUER", IORING_SETUP_SINGLE_ISSUER, false, false},
    Mode{"no COOP_TASKRUN either",
         IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN, false,
         false},
    Mode{"no set-up flags", IORING_SETUP_SUBMIT_ALL, false, false},
    Mode{"no MSG_RING", 0, true, false},
    Mode{"no multishot", 0, false, true},
    Mode{"nothing new", IORING_SETUP_SUBMIT_ALL, true, true},
};

// A small ring: 64 and 256 entries, 16 buffers of 4 KiB.
uring::RingOptions SmallRing(const Mode& mode = kModes[0]);

// A ring and the coroutines on it. Stops the program where the ring cannot be made.
class Loop {
 public:
  explicit Loop(const uring::RingOptions& options);
  explicit Loop(const Mode& mode) : Loop(SmallRing(mode)) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  [[nodiscard]] uring::Ring* ring() { return ring_.get(); }
  [[nodiscard]] coro::Spawner* spawner() { return &spawner_; }
  void Spawn(coro::Task<> task) { spawner_.Spawn(std::move(task)); }

  // One turn that waits for something to happen, or does not.
  void WaitTurn();
  void PollTurn();

  // Turns until the condition holds, or no root is left; stops the program after a minute.
  template <typename Condition>
  void RunUntil(Condition condition, const char* what) {
    const process::Deadline deadline(what);
    while (!condition()) WaitTurn();
  }
  void RunToEnd(const char* what) {
    RunUntil([this] { return spawner_.live_count() == 0; }, what);
  }
  // The same, never sleeping: for what completes without a completion.
  template <typename Condition>
  void PollUntil(Condition condition, const char* what) {
    const process::Deadline deadline(what);
    while (!condition()) PollTurn();
  }

 private:
  std::unique_ptr<uring::Ring> ring_;
  coro::Spawner spawner_;
};

// A descriptor, closed when it goes.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { Close(); }

  [[nodiscard]] int get() const { return fd_; }
  int Release();
  void Close();
  // Closes a TCP socket so that the other end gets a reset.
  void Reset();

 private:
  int fd_ = -1;
};

// A connected stream: `ours` for the ring, `theirs` for the test's plain calls. Blocking both.
struct Pair {
  Descriptor ours;
  Descriptor theirs;
};

enum class Family : std::uint8_t { kUnix, kTcp };
inline constexpr std::array kFamilies = {Family::kUnix, Family::kTcp};

// `buffer_bytes` bounds what the sockets hold in each direction, as far as the kernel obeys.
Pair Connect(Family family, int buffer_bytes = 0);
Descriptor Listen(std::uint16_t* port, int backlog = 4096);
Descriptor ConnectTo(std::uint16_t port);

// Plain, complete calls for the test's side.
void WriteAll(int fd, std::string_view bytes);
// Reads until `bytes` have come or the peer has ended.
std::string ReadBytes(int fd, std::size_t bytes);
std::string ReadToEnd(int fd);

// Byte `offset` of the endless stream number `seed`: no two positions look alike for long.
char PatternByte(std::uint64_t seed, std::uint64_t offset);
std::string Pattern(std::uint64_t seed, std::uint64_t offset, std::size_t bytes);
// The first offset from which `bytes` differ from the pattern; npos if none.
std::size_t FindDifference(std::uint64_t seed, std::uint64_t offset, std::span<const char> bytes);

// What a receiver got.
struct Received {
  std::string bytes;
  bool has_ended = false;
  std::int32_t end_result = 0;
};

// Receives until the end of the stream.
coro::Task<> ReceiveToEnd(uring::Ring* ring, int fd, Received* received);

}  // namespace uring_test
