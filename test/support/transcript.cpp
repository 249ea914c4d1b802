#include "test/support/transcript.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <set>
#include <sstream>

#include "test/support/failure.h"
#include "test/support/pattern.h"

namespace support {
namespace {

constexpr std::chrono::milliseconds kPauseMax{10'000};
constexpr std::int64_t kRepeatMax = 100'000;

struct Line {
  int number = 0;
  std::string_view text;
};

std::vector<Line> SplitLines(std::string_view text) {
  std::vector<Line> lines;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back({.number = number, .text = text.substr(0, end)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string> Words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::int64_t ToInteger(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw Failure(fmt::format("no number: '{}'", text));
  }
  return number;
}

class Parser {
 public:
  explicit Parser(Transcript* transcript) : transcript_(transcript) {}

  // `bound`: the loop variables around these lines.
  void ParseLines(const std::vector<Line>& lines, const Variables& bound) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      line_ = lines[i].number;
      const std::vector<std::string> words = Words(lines[i].text);
      if (words.size() >= 2 && words[0] == "%" && words[1] == "repeat") {
        i = ParseRepeat(lines, i, words, bound);
      } else {
        ParseLine(lines[i].text, words, bound);
      }
    }
  }
  void Finish() const {
    if (skips_lines_) throw Failure("'...' needs an expected line after it");
    if (transcript_->steps.empty()) throw Failure("nothing is sent");
  }
  [[nodiscard]] int line() const { return line_; }

 private:
  // Returns the index of "% end".
  std::size_t ParseRepeat(const std::vector<Line>& lines, std::size_t start,
                          const std::vector<std::string>& words, Variables bound) {
    if (words.size() != 4) throw Failure("write: % repeat COUNT VARIABLE");
    const std::int64_t count = ToInteger(words[2]);
    if (count < 1 || count > kRepeatMax) throw Failure("bad count");
    std::size_t end = start + 1;
    while (end < lines.size() && lines[end].text != "% end") ++end;
    if (end == lines.size()) throw Failure("no '% end' follows");
    const std::vector<Line> body(lines.begin() + static_cast<std::ptrdiff_t>(start) + 1,
                                 lines.begin() + static_cast<std::ptrdiff_t>(end));
    for (std::int64_t i = 0; i < count; ++i) {
      bound[words[3]] = std::to_string(i);
      ParseLines(body, bound);
    }
    return end;
  }

  void ParseLine(std::string_view text, const std::vector<std::string>& words,
                 const Variables& bound) {
    if (words.empty()) return;
    const std::string& mark = words[0];
    const std::string_view rest = text.substr(std::min(mark.size() + 1, text.size()));
    if (!text.starts_with(mark) || (text.size() > mark.size() && text[mark.size()] != ' ')) {
      throw Failure("a line begins with its mark and one blank");
    }
    if (mark == "#") return ParseComment(rest);
    if (mark == "+") return ParseCounters(words);
    if (mark == "...") {
      skips_lines_ = true;
    } else if (mark == ">" || mark == ">>") {
      AddText(StepKind::kSend, rest, mark.size() == 1, bound);
    } else if (mark == "<" && rest == "close") {
      Add(StepKind::kExpectClose, {});
    } else if (mark == "<" || mark == "<<") {
      AddText(StepKind::kExpect, rest, mark.size() == 1, bound);
    } else if (mark == "=") {
      AddPattern(rest);
    } else if (mark == "@" && words.size() == 2) {
      Add(StepKind::kUse, {words[1]});
    } else if (mark == "%" && words.size() >= 2) {
      ParseDirective(words);
    } else {
      throw Failure("what is this line?");
    }
  }

  void ParseDirective(const std::vector<std::string>& words) {
    const std::string& name = words[1];
    if (name == "settle" && words.size() == 2) {
      Add(StepKind::kSettle, {});
    } else if (name == "half-close" && words.size() == 2) {
      Add(StepKind::kHalfClose, {});
    } else if (name == "reset" && words.size() == 2) {
      Add(StepKind::kReset, {});
    } else if (name == "differ" && words.size() == 4) {
      MustBeCaptured(words[2]);
      MustBeCaptured(words[3]);
      Add(StepKind::kDiffer, {words[2], words[3]});
    } else if (name == "wait" && words.size() == 4 && words[3] == "ms") {
      const std::chrono::milliseconds pause{ToInteger(words[2])};
      if (pause.count() < 1 || pause > kPauseMax) throw Failure("bad time to wait");
      Add(StepKind::kWait, {}).pause = pause;
    } else {
      throw Failure("unknown directive");
    }
  }

  void ParseComment(std::string_view text) {
    constexpr std::string_view kFlags = "flags:";
    constexpr std::string_view kDiffers = "differs from memcached:";
    if (text.starts_with(kFlags)) {
      transcript_->flags = Words(text.substr(kFlags.size()));
    } else if (text.starts_with(kDiffers)) {
      transcript_->differs = text.substr(std::min(kDiffers.size() + 1, text.size()));
      if (transcript_->differs.empty()) throw Failure("why does it differ?");
    }
  }

  void ParseCounters(const std::vector<std::string>& words) {
    if (words.size() < 3 || words.size() % 2 == 0) throw Failure("write: + NAME GROWTH ...");
    for (std::size_t i = 1; i < words.size(); i += 2) {
      transcript_->counters.emplace_back(words[i], ToInteger(words[i + 1]));
    }
  }

  void AddText(StepKind kind, std::string_view text, bool is_line, const Variables& bound) {
    Template expanded(text, bound);
    if (is_line) expanded.Append("\r\n");
    for (const std::string& name : expanded.OpenVariables()) MustBeCaptured(name);
    Add(kind, {}).text = std::move(expanded);
  }

  void AddPattern(std::string_view pattern) {
    for (std::string& name : NamesIn(pattern)) captured_.insert(std::move(name));
    Add(StepKind::kExpectPattern, {std::string(pattern)});
  }

  Step& Add(StepKind kind, std::vector<std::string> words) {
    Step& step = transcript_->steps.emplace_back();
    step.kind = kind;
    step.line = line_;
    step.words = std::move(words);
    if (kind == StepKind::kExpect || kind == StepKind::kExpectPattern) {
      step.skips_lines = std::exchange(skips_lines_, false);
    } else if (skips_lines_) {
      throw Failure("'...' needs an expected line after it");
    }
    return step;
  }

  void MustBeCaptured(const std::string& name) const {
    if (!captured_.contains(name)) throw Failure("nothing is captured as " + name + " before");
  }

  Transcript* transcript_;
  std::set<std::string, std::less<>> captured_;
  int line_ = 1;
  bool skips_lines_ = false;
};

}  // namespace

Transcript ParseTranscript(std::string path, std::string_view text) {
  Transcript transcript;
  transcript.path = std::move(path);
  Parser parser(&transcript);
  try {
    parser.ParseLines(SplitLines(text), {});
    parser.Finish();
  } catch (const Failure& failure) {
    throw Failure(fmt::format("{}:{}: {}", transcript.path, parser.line(), failure.what()));
  }
  return transcript;
}

Transcript LoadTranscript(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return ParseTranscript(path, text.str());
}

}  // namespace support
