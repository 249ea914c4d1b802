// RunInChild: runs a function in a child process, for what ends or changes a process: an abort, a
// lowered limit, another user, a refused system call.
//
// The child is a fork: call it while no other thread runs. What the function returns is the child's
// exit status; what it writes to stdout and stderr is the parent's to look at. A child that has not
// ended after `limit` is killed by SIGALRM.
//
// Threads: the only one of its process.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace process {

struct ChildEnd {
  int exit_status = -1;  // -1: killed by a signal.
  int signal = 0;        // 0: ended by itself.
  std::string output;
};

ChildEnd RunInChild(const std::function<int()>& body,
                    std::chrono::seconds limit = std::chrono::seconds(30));

}  // namespace process
