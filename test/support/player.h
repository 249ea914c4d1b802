// Player: plays a transcript to a server and compares the answers.
//
// However it is played the same answers are right: line by line, where each line is sent when the
// answers before it have come; byte by byte, where each byte is taken by the server before the next
// one is sent (the middle of long texts goes in larger, odd pieces); and in one packet, where
// everything is sent at once, up to where an answer, a pause or another connection is needed first.
//
// In the end every connection must still be in step: asked for the version, it answers that and
// nothing else.
//
// Owner: none, functions only. Threads: any; a server answers one play at a time if counters
// matter.
#pragma once

#include <array>
#include <cstdint>

#include "test/support/client.h"
#include "test/support/transcript.h"

namespace support {

enum class Way : std::uint8_t { kLineByLine, kByteByByte, kOnePacket };

inline constexpr std::array kWays{Way::kLineByLine, Way::kByteByByte, Way::kOnePacket};

const char* NameOf(Way way);

// Throws Failure: file and line, what was sent, what was expected and what came.
void Play(const Transcript& transcript, const Endpoint& endpoint, Way way);

// The same, with a server of its own: over a Unix socket byte by byte, else over TCP.
void PlayOnFreshServer(const Transcript& transcript, Way way);

}  // namespace support
