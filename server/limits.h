// The bounds of everything a client or a user can make grow.
//
// Threads: constants.
#pragma once

#include <cstddef>
#include <cstdint>

namespace server {

// Commands parsed ahead, so that their keys' cache lines are fetched together.
inline constexpr std::size_t kBatchMax = 32;
// A connection's answers are sent when they pass this, before more of its commands are carried out.
inline constexpr std::size_t kReplyBytesMax = std::size_t{256} << 10;
// All answers of one turn of a worker: beyond this the other connections wait for the next turn.
inline constexpr std::size_t kTurnReplyBytesMax = std::size_t{4} << 20;
// Values from this size on are sent from the item; smaller ones are copied.
inline constexpr std::size_t kSendInPlaceBytesMin = std::size_t{32} << 10;
// Received and not yet read bytes of all connections of a worker that are waiting for their peer to
// read.
inline constexpr std::size_t kParkedBytesMax = std::size_t{64} << 20;

inline constexpr std::uint32_t kThreadCountMax = 1024;
inline constexpr std::uint32_t kRingDepthMin = 8;
inline constexpr std::uint32_t kRingDepthMax = 32768;

// How long a stopping server goes on finishing what clients have sent, in all.
inline constexpr std::uint32_t kDrainMilliseconds = 3000;
// How long accepting rests after the system had no descriptor left.
inline constexpr std::uint32_t kAcceptPauseMilliseconds = 20;

}  // namespace server
