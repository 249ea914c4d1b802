#include "test/support/server_process.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <thread>

#include "test/support/failure.h"

#ifndef RINGCACHED_SERVER_PATH
#define RINGCACHED_SERVER_PATH ""
#endif

namespace support {
namespace {

constexpr std::chrono::milliseconds kStopMax{5'000};
constexpr std::chrono::milliseconds kPollPause{2};

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string MakeDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "ringcached-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw Failure("cannot make the directory " + name);
  return name;
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> CommandLine(const Endpoint& endpoint, std::vector<std::string> flags) {
  std::ranges::copy(Words(Environment("RINGCACHED_TEST_FLAGS")), std::back_inserter(flags));
  std::vector<std::string> command{ServerPath()};
  if (endpoint.unix_path.empty()) {
    command.insert(command.end(), {"-l", "127.0.0.1", "-p", std::to_string(endpoint.port)});
  } else {
    command.insert(command.end(), {"-s", endpoint.unix_path});
  }
  if (geteuid() == 0) command.insert(command.end(), {"-u", "root"});
  if (std::ranges::find(flags, "-t") == flags.end()) command.insert(command.end(), {"-t", "2"});
  command.insert(command.end(), flags.begin(), flags.end());
  return command;
}

// The child's environment: ours without what is meant for the tests, which the server might take
// for flags of its own.
std::vector<char*> ServerEnvironment() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!text.starts_with("RINGCACHED_SERVER=") && !text.starts_with("RINGCACHED_TEST_")) {
      kept.push_back(*entry);
    }
  }
  kept.push_back(nullptr);
  return kept;
}

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("was ended by signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  }
  return fmt::format("exited with {}", WEXITSTATUS(status));
}

}  // namespace

std::string ServerPath() {
  std::string path = Environment("RINGCACHED_SERVER");
  if (path.empty()) path = RINGCACHED_SERVER_PATH;
  if (path.empty()) throw Failure("which server? RINGCACHED_SERVER is not set");
  return path;
}

bool IsAgainstMemcached() { return Environment("RINGCACHED_TEST_AGAINST") == "memcached"; }

ServerProcess::ServerProcess(const ServerOptions& options)
    : output_(memfd_create("server-output", MFD_CLOEXEC)) {
  if (options.transport == Transport::kTcp) {
    port_.emplace();
    endpoint_.port = port_->port();
  } else {
    directory_ = MakeDirectory();
    endpoint_.unix_path = directory_ + "/socket";
  }
  try {
    Start(CommandLine(endpoint_, options.flags));
    AwaitAccepting();
  } catch (...) {  // No destructor will run.
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
    throw;
  }
}

void ServerProcess::Start(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment = ServerEnvironment();
  pid_ = fork();
  if (pid_ < 0) throw Failure("fork failed");
  if (pid_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // A test that is killed leaves no server behind.
  dup2(output_.fd(), STDOUT_FILENO);
  dup2(output_.fd(), STDERR_FILENO);
  execve(arguments[0], arguments.data(), environment.data());
  std::perror(arguments[0]);
  _exit(127);
}

void ServerProcess::AwaitAccepting() {
  const Deadline deadline(kWaitMax);
  for (;;) {
    if (const auto status = Ended()) Fail("the server " + HowItEnded(*status) + " at its start");
    try {
      const Client probe(endpoint_);
      return;
    } catch (const Failure&) {
      if (deadline.passed()) Fail(fmt::format("no connection within {} ms", kWaitMax.count()));
    }
    std::this_thread::sleep_for(kPollPause);
  }
}

std::optional<int> ServerProcess::Ended() {
  int status = 0;
  if (pid_ < 0 || waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return status;
}

std::string ServerProcess::Output() const {
  std::string output;
  std::array<char, 65536> room;
  for (;;) {
    const ssize_t read_bytes =
        pread(output_.fd(), room.data(), room.size(), static_cast<off_t>(output.size()));
    if (read_bytes <= 0) return output;
    output.append(room.data(), static_cast<std::size_t>(read_bytes));
  }
}

void ServerProcess::Fail(const std::string& what) const {
  throw Failure(fmt::format("{}; it printed:\n{}", what, Output()));
}

void ServerProcess::Stop() {
  if (pid_ < 0) return;
  if (const auto status = Ended()) Fail("the server " + HowItEnded(*status) + " before its time");
  kill(pid_, SIGTERM);
  const Deadline deadline(kStopMax);
  for (;;) {
    if (const auto status = Ended()) {
      if (*status != 0) Fail("the server, told to end by SIGTERM, " + HowItEnded(*status));
      return;
    }
    if (deadline.passed()) break;
    std::this_thread::sleep_for(kPollPause);
  }
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
  Fail(fmt::format("the server had not ended {} ms after SIGTERM", kStopMax.count()));
}

ServerProcess::~ServerProcess() {
  try {
    Stop();
    if (std::uncaught_exceptions() > 0) std::fputs(Output().c_str(), stderr);
  } catch (const Failure& failure) {
    FAIL_CHECK(std::string(failure.what()));
  }
  if (!directory_.empty()) std::filesystem::remove_all(directory_);
}

}  // namespace support
