#include "test/process/child.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace process {
namespace {

[[noreturn]] void LiveAsChild(const std::function<int()>& body, std::chrono::seconds limit,
                              int output_fd) {
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
  // doctest's handlers would report on the parent's behalf.
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGTERM, SIGALRM}) {
    std::signal(signal, SIG_DFL);
  }
  alarm(static_cast<unsigned>(limit.count()));
  dup2(output_fd, STDOUT_FILENO);
  dup2(output_fd, STDERR_FILENO);
  const int exit_status = body();
  std::fflush(nullptr);
  _exit(exit_status);
}

std::string ReadAll(int fd) {
  std::string all;
  std::array<char, 4096> room{};
  for (;;) {
    const ssize_t bytes = read(fd, room.data(), room.size());
    if (bytes > 0) all.append(room.data(), static_cast<std::size_t>(bytes));
    if (bytes == 0 || (bytes < 0 && errno != EINTR)) return all;
  }
}

}  // namespace

ChildEnd RunInChild(const std::function<int()>& body, std::chrono::seconds limit) {
  std::fflush(nullptr);
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) std::abort();
  const pid_t child = fork();
  if (child < 0) std::abort();
  if (child == 0) {
    close(ends[0]);
    LiveAsChild(body, limit, ends[1]);
  }
  close(ends[1]);
  ChildEnd end;
  end.output = ReadAll(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) end.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

}  // namespace process
