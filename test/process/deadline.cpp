#include "test/process/deadline.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace process {
namespace {

std::atomic<const char*> awaited = nullptr;

void Say(const char* text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

void Expire(int) {
  Say("deadline passed: ");
  if (const char* what = awaited.load()) Say(what);
  Say("\n");
  std::abort();
}

}  // namespace

Deadline::Deadline(const char* what, std::chrono::seconds limit) {
  if (awaited.exchange(what) != nullptr) std::abort();
  std::signal(SIGALRM, &Expire);
  alarm(static_cast<unsigned>(limit.count()));
}

Deadline::~Deadline() {
  alarm(0);
  awaited.store(nullptr);
}

}  // namespace process
