// SocketHandle: owns a descriptor and closes it.
//
// Owner: the object it is a member of. Threads: the owner's.
#pragma once

#include <unistd.h>

#include <utility>

namespace support {

class SocketHandle {
 public:
  SocketHandle() = default;
  explicit SocketHandle(int fd) : fd_(fd) {}
  SocketHandle(SocketHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  SocketHandle& operator=(SocketHandle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~SocketHandle() { Close(); }

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace support
