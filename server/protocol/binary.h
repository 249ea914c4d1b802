// The binary protocol: frames of a 24-byte header, extras, key and value.
//
//    0  magic      1  0x80 a request, 0x81 an answer
//    1  opcode     1
//    2  key bytes  2
//    4  extras     1  bytes
//    5  data type  1  0
//    6  status     2  of an answer; of a request: ignored
//    8  body       4  bytes: extras, key and value
//   12  opaque     4  comes back in the answer as it is
//   16  CAS        8
//
// Numbers are big-endian. ParseBinary takes the header, the extras and the key of one frame, once
// they are all there; the value is the caller's to take, also when the frame is in error, so that
// the stream stays in step. (An authentication's value, which is short, comes with the command.)
//
// The protocol is described in memcached's wiki (BinaryProtocolRevamped).
//
// Threads: any; plain functions.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "server/protocol/command.h"
#include "server/protocol/parsed.h"

namespace protocol {

inline constexpr std::size_t kBinaryHeaderBytes = 24;
// What an authentication may bring.
inline constexpr std::size_t kSaslBytesMax = 1024;
inline constexpr char kBinaryRequestMagic = static_cast<char>(0x80);
inline constexpr char kBinaryAnswerMagic = static_cast<char>(0x81);

enum class BinaryStatus : std::uint16_t {
  kOk = 0x00,
  kNotFound = 0x01,
  kExists = 0x02,
  kTooLarge = 0x03,
  kInvalid = 0x04,
  kNotStored = 0x05,
  kNonNumeric = 0x06,
  kAuthFailed = 0x20,
  kAuthContinue = 0x21,
  kUnknownCommand = 0x81,
  kNoMemory = 0x82,
};

// The text that an answer with this status has as its value; none for kOk.
std::string_view TextOf(BinaryStatus status);

Parsed ParseBinary(std::string_view unread, Command* command);

template <std::unsigned_integral Number>
Number ReadBigEndian(const char* from) {
  Number number;
  std::memcpy(&number, from, sizeof number);
  if constexpr (std::endian::native == std::endian::big) {
    return number;
  } else if constexpr (sizeof number == 2) {
    return static_cast<Number>(__builtin_bswap16(number));
  } else if constexpr (sizeof number == 4) {
    return __builtin_bswap32(number);
  } else {
    static_assert(sizeof number == 8);
    return __builtin_bswap64(number);
  }
}

// Returns the end.
template <std::unsigned_integral Number>
char* WriteBigEndian(char* to, Number number) {
  number = ReadBigEndian<Number>(reinterpret_cast<const char*>(&number));
  std::memcpy(to, &number, sizeof number);
  return to + sizeof number;
}

}  // namespace protocol
