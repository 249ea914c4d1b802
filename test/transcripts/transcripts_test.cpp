// Plays every conversation under test/transcripts; test/support/transcript.h has their format.
#include <doctest/doctest.h>

#include <string>

#include "test/support/player.h"
#include "test/support/server_process.h"
#include "test/support/transcript.h"

namespace {

void PlayInEveryWay(const std::string& file) {
  const support::Transcript transcript =
      support::LoadTranscript(RINGCACHED_TRANSCRIPTS_DIRECTORY "/" + file);
  if (support::IsAgainstMemcached() && !transcript.differs.empty()) {
    MESSAGE("not played to memcached: ", transcript.differs);
    return;
  }
  for (const support::Way way : support::kWays) {
    CHECK_NOTHROW(support::PlayOnFreshServer(transcript, way));
  }
}

}  // namespace

#define TRANSCRIPT(file) \
  TEST_CASE(file) { PlayInEveryWay(file); }
#include "transcript_list.inc"
