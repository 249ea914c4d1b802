// Flags: each works or is refused in one line that names what to change; nothing is ignored.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "test/process/child.h"
#include "test/process/syscall_filter.h"
#include "test/support/server_process.h"
#include "test/support/socket_handle.h"

namespace {

using support::Client;
using support::ServerProcess;
using Flags = std::vector<std::string>;

std::string Text(const Flags& flags) {
  std::string text;
  for (const std::string& flag : flags) text += flag.substr(0, 80) + " ";
  return text;
}

// A system call that the server finds refused. None: nothing is.
struct RefusedCall {
  int number = -1;
  int error = 0;
};

// Runs the server with these flags until it ends; a server that goes on is killed after a while.
process::ChildEnd Run(const Flags& flags, RefusedCall refused = {}) {
  const std::string path = support::ServerPath();
  Flags words = {path, "-l", "127.0.0.1", "-p", "-1", "-t", "2"};
  if (geteuid() == 0) words.insert(words.end(), {"-u", "root"});
  words.insert(words.end(), flags.begin(), flags.end());
  return process::RunInChild(
      [&words, refused] {
        if (refused.number >= 0 && !process::RefuseSystemCall(refused.number, refused.error)) {
          return 126;
        }
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        execv(arguments[0], arguments.data());
        return 127;
      },
      std::chrono::seconds(20));
}

void CheckRefused(const Flags& flags, int exit_status, const std::string& part) {
  CAPTURE(Text(flags));
  const process::ChildEnd end = Run(flags);
  CAPTURE(end.output);
  CHECK(end.exit_status == exit_status);
  CHECK(end.output.find(part) != std::string::npos);
  CHECK(end.output.starts_with("ringcached: "));
  CHECK(std::ranges::count(end.output, '\n') == 1);
}

// A variable of the environment, for as long as it is in scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

std::string Ask(const ServerProcess& server, std::string_view request) {
  Client client(server.endpoint());
  client.Send(request);
  return client.ReceiveLine();
}

std::string Setting(const ServerProcess& server, const std::string& name) {
  Client client(server.endpoint());
  client.Send("stats settings\r\n");
  const std::string head = "STAT " + name + " ";
  for (;;) {
    const std::string line = client.ReceiveLine();
    if (line.starts_with("END")) return "absent";
    if (line.starts_with(head)) return line.substr(head.size(), line.size() - head.size() - 2);
  }
}

struct Refused {
  Flags flags;
  const char* part;
};

TEST_CASE("values that make no sense are refused in one line that says what to change") {
  const std::string lengthy(300, 'a');
  const std::vector<Refused> table = {
      {{"-p", "70000"}, "--port: 70000 is not a number from -1 to 65535"},
      {{"-p", "abc"}, "--port: abc is not a number"},
      {{"-p", "11211x"}, "--port: 11211x is not a number"},
      {{"-p", ""}, "--port"},
      {{"-p"}, "--port: give a value"},
      {{"-t", "0"}, "--threads: 0 is not a number from 1 to 1024"},
      {{"-t", "-1"}, "--threads: -1"},
      {{"-t", "99999999999999999999"}, "--threads"},
      {{"-m", "0"}, "--memory-limit: 0 is not a number from 1 to"},
      {{"-m", "64m"}, "--memory-limit: 64m is not a number"},
      {{"-I", "10"}, "-I 10: must be from 1k to 1024m"},
      {{"-I", "2g"}, "-I 2g: must be from 1k to 1024m"},
      {{"-I", "abc"}, "-I abc: give bytes"},
      {{"-I", "40m"}, "raise -m or lower -I"},
      {{"-c", "0"}, "--conn-limit"},
      {{"-b", "0"}, "--listen-backlog"},
      {{"-R", "0"}, "--max-reqs-per-event"},
      {{"-f", "1.0"}, "--slab-growth-factor: 1.0 is not a number from 1.01 to 100"},
      {{"-f", "nan"}, "--slab-growth-factor"},
      {{"-n", "0"}, "--slab-min-size"},
      {{"-a", "999"}, "-a 999: give an octal number"},
      {{"-a", ""}, "octal"},
      {{"-B", "other"}, "-B other: give auto, ascii or binary"},
      {{"-U", "11211"}, "-U: UDP is not supported yet"},
      {{"-U", "-1"}, "--udp-port"},
      {{"-l", "127.0.0.1:99999"}, "the port is no number"},
      {{"-l", "127.0.0.1,"}, "an address is empty"},
      {{"-l", "[::1"}, "the bracket is not closed"},
      {{"-l", "notls:127.0.0.1"}, "prefixes are not supported yet"},
      {{"-p", "0"}, "nothing to listen on"},
      {{"--ring-depth", "4"}, "--ring-depth"},
      {{"--cq-depth", "1000000"}, "--cq-depth"},
      {{"--ring-depth", "4096", "--cq-depth", "64"}, "--cq-depth must not be below --ring-depth"},
      {{"--nonsense"}, "--nonsense; see --help"},
      {{"-x"}, "-x; see --help"},
      {{"stray"}, "stray; see --help"},
      {{"-d=perhaps"}, "see --help"},
      {{"-p", lengthy}, "--port"},
  };
  for (const Refused& refused : table) CheckRefused(refused.flags, 64, refused.part);
}

TEST_CASE("flags that are not built yet are refused by their name") {
  const std::vector<Flags> table = {
      {"-W"},      {"-Y", "file"},          {"-S"},          {"-Z"}, {"-e", "file"},
      {"-N", "2"}, {"--auth-file", "file"}, {"--enable-ssl"}};
  for (const Flags& flags : table) CheckRefused(flags, 64, "is not supported yet; leave it out");
}

TEST_CASE("extended options are judged one by one") {
  const std::vector<Refused> table = {
      {{"-o"}, "--extended: give a value"},
      {{"-o", "nonsense"}, "-o 'nonsense': there is no such option"},
      {{"-o", "maxconns_fast,,modern"}, "-o '': there is no such option"},
      {{"-o", "modern,nonsense=1"}, "-o 'nonsense': there is no such option"},
      {{"-o", "idle_timeout"}, "-o idle_timeout: give idle_timeout=VALUE"},
      {{"-o", "idle_timeout=soon"}, "-o idle_timeout=soon: give a number"},
      {{"-o", "idle_timeout=-1"}, "give a number"},
      {{"-o", "maxconns_fast=1"}, "-o maxconns_fast: takes no value"},
      {{"-o", "hash_algorithm=md5"}, "give jenkins, murmur3 or xxh3"},
      {{"-o", "hashpower=many"}, "-o hashpower=many: give a number"},
      {{"-o", "ext_path=/tmp/file:1G"}, "-o ext_path: not supported"},
      {{"-o", "ssl_key=file"}, "-o ssl_key: not supported"},
      {{"-o", "proxy_config=file"}, "ringcached is no proxy"},
      {{"-o", "slab_sizes=100-200"}, "-o slab_sizes: not supported yet"},
      {{"-o", "slab_automove=3"}, "-o slab_automove: give 0, 1 or 2"},
      {{"-o", "slab_automove_ratio=x"}, "give a number, like 0.8"},
  };
  for (const Refused& refused : table) CheckRefused(refused.flags, 64, refused.part);
  const ServerProcess server({.flags = {"-o", "modern,hash_algorithm=xxh3,idle_timeout=77", "-o",
                                        "relaxed_privileges,no_maxconns_fast"}});
  CHECK(Setting(server, "idle_timeout") == "77");
  CHECK(Setting(server, "maxconns_fast") == "no");
  CHECK(server.Output().find("-o modern is accepted and changes nothing here") !=
        std::string::npos);
}

TEST_CASE("what the system refuses is named with the flag to change") {
  const Flags user = geteuid() == 0 ? Flags{"-u", "nobody-of-this-name"} : Flags{};
  if (!user.empty()) CheckRefused(user, 67, "-u nobody-of-this-name: there is no such user");
  CheckRefused({"-P", "/nonexistent/pid"}, 71, "-P /nonexistent/pid: No such file");
  CheckRefused({"-s", "/nonexistent/socket"}, 71, "/nonexistent/socket");
  CheckRefused({"-s", "/dev/null"}, 71, "is no socket; remove it or change -s");
  CheckRefused({"-s", "/" + std::string(200, 's')}, 71, "the path of -s is too long");
  CheckRefused({"-l", "192.0.2.1"}, 71, "192.0.2.1");
  CheckRefused({"-c", "10000000"}, 71, "-c 10000000 needs");
}

TEST_CASE("system calls that are refused end the start in one line that names the cure") {
  struct Row {
    RefusedCall call;
    int exit_status;
    const char* part;
  };
  const std::vector<Row> table = {
      {{SYS_io_uring_setup, EPERM}, 69, "--security-opt seccomp="},
      {{SYS_io_uring_setup, ENOSYS}, 69, "--security-opt seccomp="},
      {{SYS_io_uring_setup, ENOMEM}, 69, "ulimit -l"},
      {{SYS_io_uring_setup, EMFILE}, 69, "ulimit -n"},
      {{SYS_clone3, EAGAIN}, 69, "use fewer --threads"},
  };
  for (const Row& row : table) {
    CAPTURE(row.call.number);
    CAPTURE(row.call.error);
    const process::ChildEnd end = Run({}, row.call);
    CAPTURE(end.output);
    CHECK(end.exit_status == row.exit_status);
    CHECK(end.output.find(row.part) != std::string::npos);
    CHECK(std::ranges::count(end.output, '\n') == 1);
  }
}

TEST_CASE("a port in use is named with the flag to change") {
  const support::SocketHandle taken(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  auto* name = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(bind(taken.fd(), name, bytes) == 0);
  REQUIRE(listen(taken.fd(), 1) == 0);
  REQUIRE(getsockname(taken.fd(), name, &bytes) == 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  CheckRefused({"-p", port}, 71, "127.0.0.1:" + port + ": Address already in use; choose another");
}

TEST_CASE("of a flag given twice the last one counts and lists are joined") {
  const ServerProcess server({.flags = {"-m", "100", "-m", "200", "-t", "1", "-t", "2", "-M", "-M",
                                        "-c", "5", "--conn-limit", "50"}});
  CHECK(Setting(server, "maxbytes") == std::to_string(200 << 20));
  CHECK(Setting(server, "maxconns") == "50");
  CHECK(Setting(server, "evictions") == "off");
}

TEST_CASE("flags have the forms that getopt allows") {
  const ServerProcess server({.flags = {"-vvm", "100", "-c50", "--max-item-size=2m", "-R", "7"}});
  CHECK(Setting(server, "maxbytes") == std::to_string(100 << 20));
  CHECK(Setting(server, "maxconns") == "50");
  CHECK(Setting(server, "item_size_max") == std::to_string(2 << 20));
  CHECK(Setting(server, "verbosity") == "2");
  CHECK(Setting(server, "reqs_per_event") == "7");
}

TEST_CASE("the smallest memory limit starts with a smaller largest item and says so") {
  const ServerProcess server({.flags = {"-m", "1"}});
  CHECK(Ask(server, "set a 0 0 1\r\nx\r\n") == "STORED\r\n");
  CHECK(Setting(server, "item_size_max") == std::to_string(512 << 10));
  CHECK(server.Output().find("-m 1: the largest item is half of it, 512 KiB") != std::string::npos);
}

TEST_CASE("the environment gives what the command line does not") {
  const Variable memory("RINGCACHED_MEMORY_LIMIT", "123");
  const Variable connections("RINGCACHED_CONN_LIMIT", "45");
  const Variable verbose("RINGCACHED_VERBOSE", "2");
  const Variable evictions("RINGCACHED_DISABLE_EVICTIONS", "true");
  const Variable empty("RINGCACHED_PIDFILE", "");
  const Variable unknown("RINGCACHED_MEMORY_LIMT", "1");
  const ServerProcess server({.flags = {"-c", "67"}});
  CHECK(Setting(server, "maxbytes") == std::to_string(123 << 20));
  CHECK(Setting(server, "maxconns") == "67");
  CHECK(Setting(server, "verbosity") == "2");
  CHECK(Setting(server, "evictions") == "off");
  CHECK(server.Output().find("RINGCACHED_MEMORY_LIMT in the environment names no flag") !=
        std::string::npos);
}

TEST_CASE("bad values of the environment are refused with the variable's name") {
  struct Row {
    const char* variable;
    const char* value;
    const char* part;
  };
  const std::vector<Row> table = {
      {"RINGCACHED_MEMORY_LIMIT", "much", "change RINGCACHED_MEMORY_LIMIT"},
      {"RINGCACHED_RING_DEPTH", "1", "change RINGCACHED_RING_DEPTH"},
      {"RINGCACHED_DAEMON", "perhaps", "change RINGCACHED_DAEMON"},
      {"RINGCACHED_VERBOSE", "loud", "change RINGCACHED_VERBOSE"},
      {"RINGCACHED_CONN_LIMIT", "tcp://10.0.0.1:11211", "enableServiceLinks"},
      {"RINGCACHED_EXTENDED", "nonsense", "-o 'nonsense'"},
      {"RINGCACHED_AUTH_FILE", "file", "-Y is not supported yet"},
  };
  for (const Row& row : table) {
    CAPTURE(std::string(row.variable));
    const Variable variable(row.variable, row.value);
    CheckRefused({}, 64, row.part);
  }
}

TEST_CASE("what is asked of the program once cannot be asked by the environment") {
  const Variable version("RINGCACHED_VERSION", "1");
  const Variable license("RINGCACHED_LICENSE", "1");
  const Variable help("RINGCACHED_HELP", "1");
  const Variable healthcheck("RINGCACHED_HEALTHCHECK", "1");
  const ServerProcess server;
  CHECK(Ask(server, "version\r\n").starts_with("VERSION "));
}

TEST_CASE("help, version and license are printed and end well") {
  const auto check = [](const char* flag, const char* part) {
    const process::ChildEnd end = Run({flag});
    CAPTURE(end.output);
    CHECK(end.exit_status == 0);
    CHECK(end.output.find(part) != std::string::npos);
    CHECK(end.output.find("(Env:") == std::string::npos);
  };
  for (const char* flag : {"-h", "--help"}) check(flag, "--unix-socket");
  for (const char* flag : {"-V", "--version"}) check(flag, "ringcached ");
  for (const char* flag : {"-i", "--license"}) check(flag, "Apache License");
}

TEST_CASE("the health check says by its exit status whether the server serves") {
  const ServerProcess server;
  const std::string port = std::to_string(server.endpoint().port);
  CHECK(Run({"--healthcheck", "-p", port}).exit_status == 0);
  CHECK(Run({"--healthcheck", "-p", "1"}).exit_status == 1);
}

TEST_CASE("the pid file holds the process id and goes with the server") {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("ringcached-flags-test-" + std::to_string(getpid()) + ".pid");
  {
    ServerProcess server({.flags = {"-P", path}});
    CHECK(Ask(server, "version\r\n").starts_with("VERSION "));
    std::FILE* file = std::fopen(path.c_str(), "r");
    REQUIRE(file != nullptr);
    int pid = 0;
    CHECK(std::fscanf(file, "%d", &pid) == 1);
    std::fclose(file);
    CHECK(pid == server.pid());
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

}  // namespace
