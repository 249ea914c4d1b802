// Failure: thrown by the test harness when a server or a conversation is not as it should be. Its
// text is for the reader of the test's output; doctest prints it and fails the test.
//
// Owner: whoever catches it. Threads: any.
#pragma once

#include <stdexcept>

namespace support {

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace support
