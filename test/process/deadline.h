// Deadline: stops the program with a message when its scope lasts longer than it may. So a test
// that waits for what never comes fails, and says where.
//
//   const process::Deadline deadline("waiting for the echo", std::chrono::seconds(20));
//
// It uses SIGALRM; one at a time. Threads: one.
#pragma once

#include <chrono>

namespace process {

class Deadline {
 public:
  // `what` stays good as long as the deadline.
  explicit Deadline(const char* what, std::chrono::seconds limit = std::chrono::seconds(60));
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline();
};

}  // namespace process
