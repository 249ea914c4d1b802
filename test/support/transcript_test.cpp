#include "test/support/transcript.h"

#include <doctest/doctest.h>

#include <string>

#include "test/support/failure.h"
#include "test/support/pattern.h"

namespace {

using support::Failure;
using support::ParseTranscript;
using support::StepKind;
using support::Transcript;

std::string WhyRefused(std::string_view text) {
  try {
    ParseTranscript("file.txt", text);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "accepted";
}

TEST_CASE("each mark makes its step, with the line it stands on") {
  const Transcript transcript = ParseTranscript("file.txt",
                                                "# a comment\n"
                                                "> get a\n"
                                                "= VALUE a 0 1 {id}\n"
                                                "<< x\\r\\n\n"
                                                "...\n"
                                                "< END\n"
                                                "@ other\n"
                                                "% wait 20 ms\n"
                                                "% differ id id\n"
                                                "% settle\n"
                                                "% half-close\n"
                                                "< close\n"
                                                "+ get_hits 1 curr_items -2\n");
  std::vector<StepKind> kinds;
  std::vector<int> lines;
  for (const support::Step& step : transcript.steps) {
    kinds.push_back(step.kind);
    lines.push_back(step.line);
  }
  CHECK(kinds == std::vector{StepKind::kSend, StepKind::kExpectPattern, StepKind::kExpect,
                             StepKind::kExpect, StepKind::kUse, StepKind::kWait, StepKind::kDiffer,
                             StepKind::kSettle, StepKind::kHalfClose, StepKind::kExpectClose});
  CHECK(lines == std::vector{2, 3, 4, 6, 7, 8, 9, 10, 11, 12});
  CHECK(transcript.steps[0].text.Expand({}) == "get a\r\n");
  CHECK(transcript.steps[2].text.Expand({}) == "x\r\n");
  CHECK(!transcript.steps[2].skips_lines);
  CHECK(transcript.steps[3].skips_lines);
  CHECK(transcript.counters ==
        std::vector<std::pair<std::string, std::int64_t>>{{"get_hits", 1}, {"curr_items", -2}});
}

TEST_CASE("what a transcript needs of its server is read from its comments") {
  const Transcript transcript = ParseTranscript(
      "file.txt", "# flags: -I 2m -t 1\n# differs from memcached: so it is.\n> a\n");
  CHECK(transcript.flags == std::vector<std::string>{"-I", "2m", "-t", "1"});
  CHECK(transcript.differs == "so it is.");
}

TEST_CASE("a loop's lines are there as often as it says, with its variable") {
  const Transcript transcript =
      ParseTranscript("file.txt", "% repeat 3 i\n> get k\\{i}\n< END\n% end\n> quit\n");
  REQUIRE(transcript.steps.size() == 7);
  CHECK(transcript.steps[4].text.Expand({}) == "get k2\r\n");
  CHECK(transcript.steps[4].line == 2);
  CHECK(transcript.steps[6].line == 5);
}

TEST_CASE("a line that makes no sense is refused with its place") {
  CHECK(WhyRefused("> a\nwhat\n").starts_with("file.txt:2: "));
  for (const char* text : {"",
                           "# only a comment\n",
                           "...\n",
                           "> a\n...\n> b\n",
                           "> a\n >b\n",
                           ">a\n",
                           "> \\q\n",
                           "> \\{id}\n",
                           "= {id\n",
                           "= (\n",
                           "@\n",
                           "@ a b\n",
                           "%\n",
                           "% what\n",
                           "% wait\n",
                           "% wait 5 s\n",
                           "% wait 0 ms\n",
                           "% wait 999999 ms\n",
                           "% differ a b\n",
                           "% settle now\n",
                           "% end\n",
                           "% repeat 3 i\n> a\n",
                           "% repeat 0 i\n> a\n% end\n",
                           "% repeat x i\n> a\n% end\n",
                           "> a\n+ name\n",
                           "> a\n+ name x\n",
                           "> a\n# differs from memcached:\n"}) {
    CAPTURE(text);
    CHECK(WhyRefused(text).starts_with("file.txt:"));
  }
}

TEST_CASE("a pattern captures words, and then stands by them") {
  support::Variables captured;
  CHECK(support::Matches("VALUE k [0-9]+ (a|b){2} {id}", "VALUE k 12 ab 77", &captured));
  CHECK(captured.at("id") == "77");
  CHECK(support::Matches("{id}", "77", &captured));
  CHECK(!support::Matches("{id}", "78", &captured));
  CHECK(!support::Matches("VALUE", "VALUE k", &captured));
  captured["odd"] = "1.6+x";
  CHECK(support::Matches("v {odd}", "v 1.6+x", &captured));
  CHECK(!support::Matches("v {odd}", "v 1x6+x", &captured));
}

}  // namespace
