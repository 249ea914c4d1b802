// PortReservation: a TCP port of 127.0.0.1 for one server under test.
//
// Tests run in many processes at once. A port is held by a Unix socket in the abstract name space,
// which the kernel gives back when its process ends, so no two tests ever choose the same one and
// none is left behind. Ports come from 21300-21399, below those the kernel gives to clients; the
// environment variable RINGCACHED_TEST_PORTS (FIRST-LAST) names another range.
//
// Owner: the ServerProcess that listens there. Threads: one.
#pragma once

#include <cstdint>

#include "test/support/socket_handle.h"

namespace support {

class PortReservation {
 public:
  // Throws Failure when every port of the range is taken.
  PortReservation();
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  SocketHandle holder_;
  std::uint16_t port_ = 0;
};

}  // namespace support
