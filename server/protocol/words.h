// The fixed words of the classic protocol's answers, each with its CRLF.
//
// Threads: any; constants.
#pragma once

#include <string_view>

namespace protocol::words {

inline constexpr std::string_view kCrlf = "\r\n";
inline constexpr std::string_view kEnd = "END\r\n";
inline constexpr std::string_view kStored = "STORED\r\n";
inline constexpr std::string_view kNotStored = "NOT_STORED\r\n";
inline constexpr std::string_view kExists = "EXISTS\r\n";
inline constexpr std::string_view kNotFound = "NOT_FOUND\r\n";
inline constexpr std::string_view kDeleted = "DELETED\r\n";
inline constexpr std::string_view kTouched = "TOUCHED\r\n";
inline constexpr std::string_view kOk = "OK\r\n";
inline constexpr std::string_view kReset = "RESET\r\n";
inline constexpr std::string_view kMetaNoop = "MN\r\n";
inline constexpr std::string_view kError = "ERROR\r\n";
inline constexpr std::string_view kBadFormat = "CLIENT_ERROR bad command line format\r\n";
inline constexpr std::string_view kBadExptime = "CLIENT_ERROR invalid exptime argument\r\n";
inline constexpr std::string_view kBadDelta = "CLIENT_ERROR invalid numeric delta argument\r\n";
inline constexpr std::string_view kBadDataChunk = "CLIENT_ERROR bad data chunk\r\n";
inline constexpr std::string_view kNonNumeric =
    "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
inline constexpr std::string_view kTooLarge = "SERVER_ERROR object too large for cache\r\n";
inline constexpr std::string_view kNoMemoryStoring =
    "SERVER_ERROR out of memory storing object\r\n";
inline constexpr std::string_view kNoMemory = "SERVER_ERROR out of memory\r\n";
inline constexpr std::string_view kBadToken = "CLIENT_ERROR bad token in command line format\r\n";
inline constexpr std::string_view kDuplicateFlag = "CLIENT_ERROR duplicate flag\r\n";
inline constexpr std::string_view kInvalidFlag = "CLIENT_ERROR invalid flag\r\n";
inline constexpr std::string_view kTooManyFlags = "CLIENT_ERROR options flags are too long\r\n";
inline constexpr std::string_view kOpaqueTooLong = "CLIENT_ERROR opaque token too long\r\n";
inline constexpr std::string_view kBadInitial = "CLIENT_ERROR invalid numeric initial value\r\n";
inline constexpr std::string_view kBadDeltaValue = "CLIENT_ERROR invalid numeric delta value\r\n";
inline constexpr std::string_view kBadBase64 = "CLIENT_ERROR error decoding key\r\n";
inline constexpr std::string_view kBadSetMode = "CLIENT_ERROR invalid mode for ms M token\r\n";
inline constexpr std::string_view kBadDeltaMode = "CLIENT_ERROR invalid mode for ma M token\r\n";
inline constexpr std::string_view kBadDeltaFlags = "CLIENT_ERROR invalid or duplicate flag\r\n";
inline constexpr std::string_view kFlushNotAllowed = "CLIENT_ERROR flush_all not allowed\r\n";

}  // namespace protocol::words
