// ByteSource: buffers of received bytes, in order; where an Input reads from.
//
// A connection's source is its uring::Receiver (ReceivedBytes); a datagram or a test has its own.
//
// Owner: whoever reads. Threads: its own.
#pragma once

#include <cstddef>
#include <string_view>

#include "uring/receiver.h"

namespace server {

class ByteSource {
 public:
  // The oldest buffer; empty when there is none.
  [[nodiscard]] virtual std::string_view Front() const = 0;
  // Gives the oldest buffer back.
  virtual void Pop() = 0;
  // Bytes of all buffers.
  [[nodiscard]] virtual std::size_t bytes() const = 0;

 protected:
  ~ByteSource() = default;
};

class ReceivedBytes final : public ByteSource {
 public:
  explicit ReceivedBytes(uring::Receiver* receiver) : receiver_(receiver) {}

  [[nodiscard]] std::string_view Front() const override {
    if (!receiver_->has_data()) return {};
    return {receiver_->Front().data(), receiver_->Front().size()};
  }
  void Pop() override { receiver_->Pop(); }
  [[nodiscard]] std::size_t bytes() const override {
    std::size_t bytes = 0;
    receiver_->ForEachHeld([&bytes](std::span<const char> buffer) { bytes += buffer.size(); });
    return bytes;
  }

 private:
  uring::Receiver* receiver_;
};

// One buffer that somebody else owns: a datagram, a test's bytes.
class GivenBytes final : public ByteSource {
 public:
  explicit GivenBytes(std::string_view bytes) : bytes_(bytes) {}
  // The next buffer; only when the last has been popped.
  void Give(std::string_view bytes) { bytes_ = bytes; }

  [[nodiscard]] std::string_view Front() const override { return bytes_; }
  void Pop() override { bytes_ = {}; }
  [[nodiscard]] std::size_t bytes() const override { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

}  // namespace server
