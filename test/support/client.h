// Client: one connection to a server under test, used in blocking style.
//
// Every call that waits gives up after kWaitMax and throws Failure; so does one that meets an end
// of stream it did not ask for. Received bytes stay in a buffer until they are taken.
//
// Owner: the test. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "test/support/deadline.h"
#include "test/support/socket_handle.h"

namespace support {

// Where a server listens: a Unix socket when there is a path, else a port of 127.0.0.1.
struct Endpoint {
  std::string unix_path;
  std::uint16_t port = 0;
};

class Client {
 public:
  // Connects. receive_buffer_bytes: SO_RCVBUF; 0 leaves it to the kernel.
  explicit Client(const Endpoint& endpoint, int receive_buffer_bytes = 0);
  Client(Client&&) = default;
  Client& operator=(Client&&) = default;

  // -- Sending. All of it.
  void Send(std::string_view bytes);
  // Receives into the buffer meanwhile, so that a server that must answer before it reads on is
  // not in the way. False: the server closed before it had taken everything.
  [[nodiscard]] bool SendWhileReceiving(std::string_view bytes);
  // Waits until the server has read what was sent (on TCP: until its kernel has it), and receives
  // into the buffer meanwhile. Returns also if it does not, after `limit`.
  void AwaitTaken(std::chrono::milliseconds limit);
  // No more will be sent; answers may still come.
  void HalfClose();
  // Ends the connection with a TCP reset.
  void Reset();

  // -- Receiving.
  // Exactly so many bytes.
  std::string Receive(std::size_t bytes);
  // Up to and with the next "\n".
  std::string ReceiveLine();
  // All that comes until the server closes. A reset counts as a close: it is what the kernel sends
  // when a server closes with bytes unread.
  std::string ReceiveUntilClose();

  // -- The buffer, for callers that compare as bytes arrive.
  enum class More : std::uint8_t { kBytes, kEnd, kLate };
  // Waits for at least one byte more in the buffer.
  More ReceiveMore(const Deadline& deadline);
  [[nodiscard]] std::string_view buffered() const;
  void Consume(std::size_t bytes);

  [[nodiscard]] int fd() const { return socket_.fd(); }

 private:
  // One send() without waiting. Returns the bytes taken, 0 if none fits now, -1 if the server
  // closed.
  std::ptrdiff_t SendSome(std::string_view bytes) const;
  // One recv() without waiting.
  More ReceiveSome();
  void MustReceiveMore(const Deadline& deadline, std::string_view what);

  SocketHandle socket_;
  std::string buffer_;
  std::size_t consumed_bytes_ = 0;  // Of the front of buffer_.
};

}  // namespace support
