// How statistics go on the wire.
#include <fmt/format.h>

#include <iterator>

#include "server/answers.h"
#include "server/protocol/binary.h"
#include "server/protocol/words.h"
#include "server/stats_answer.h"

namespace server {
namespace {

using protocol::BinaryStatus;
namespace words = protocol::words;

std::string ClassicStats(const StatsAnswer& answer) {
  if (answer.kind == StatsAnswer::Kind::kReset) return std::string(words::kReset);
  if (answer.kind == StatsAnswer::Kind::kUnknown) return std::string(words::kError);
  const bool is_text =
      answer.kind == StatsAnswer::Kind::kText || answer.kind == StatsAnswer::Kind::kDone;
  if (is_text) return answer.text;
  std::string text;
  for (const auto& [name, value] : answer.lines) {
    fmt::format_to(std::back_inserter(text), "STAT {} {}\r\n", name, value);
  }
  return text.append(words::kEnd);
}

void AppendFrame(const protocol::BinaryFrame& frame, BinaryStatus status, std::string_view key,
                 std::string_view value, std::string* text) {
  char header[protocol::kBinaryHeaderBytes];
  WriteBinaryHeader(header, frame,
                    {.status = status,
                     .key_bytes = static_cast<std::uint16_t>(key.size()),
                     .body_bytes = static_cast<std::uint32_t>(key.size() + value.size())});
  text->append(header, sizeof header).append(key).append(value);
}

// A frame a line, and one with nothing in it for the end.
std::string BinaryStats(const protocol::BinaryFrame& frame, const StatsAnswer& answer) {
  std::string text;
  const bool is_unknown = answer.kind == StatsAnswer::Kind::kUnknown ||
                          answer.kind == StatsAnswer::Kind::kText ||
                          answer.kind == StatsAnswer::Kind::kDump;
  if (is_unknown) {
    const auto status = BinaryStatus::kNotFound;
    AppendFrame(frame, status, {}, protocol::TextOf(status), &text);
    return text;
  }
  if (!answer.name.empty()) {
    AppendFrame(frame, BinaryStatus::kOk, answer.name, answer.text, &text);
  }
  for (const auto& [name, value] : answer.lines) {
    AppendFrame(frame, BinaryStatus::kOk, name, value, &text);
  }
  AppendFrame(frame, BinaryStatus::kOk, {}, {}, &text);
  return text;
}

}  // namespace

std::string WordStats(const StatsRequest& request, const StatsAnswer& answer) {
  const bool is_binary = request.dialect == protocol::Dialect::kBinary;
  return is_binary ? BinaryStats(request.frame, answer) : ClassicStats(answer);
}

}  // namespace server
