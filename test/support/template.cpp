#include "test/support/template.h"

#include <fmt/format.h>

#include <charconv>
#include <ctime>
#include <optional>

#include "test/support/bytes.h"
#include "test/support/failure.h"

namespace support {
namespace {

constexpr std::size_t kExpandedBytesMax = std::size_t{256} << 20;

// The number that all of `text` is.
std::optional<std::size_t> ToNumber(std::string_view text, int base = 10) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Reads a text with escapes from left to right.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  [[nodiscard]] bool AtEnd() const { return text_.empty(); }

  // The next plain bytes. At a variable's place: nothing, and its name into *variable. `copy` is
  // the value of \#.
  std::string Next(std::string* variable, std::size_t copy) {
    const std::size_t plain_bytes = std::min(text_.find('\\'), text_.size());
    if (plain_bytes > 0) return std::string(Take(plain_bytes));
    Take(1);
    if (AtEnd()) throw Failure("a backslash at the end of the line");
    const char kind = Take(1).front();
    if (kind == '[') return Repeated(TakeUntil(']'));
    if (kind == '#') return std::to_string(copy);
    if (kind == 'x') return HexByte();
    if (kind == '{') {
      *variable = TakeUntil('}');
      return {};
    }
    return std::string(1, OneByte(kind));
  }

 private:
  std::string_view Take(std::size_t bytes) {
    const std::string_view taken = text_.substr(0, bytes);
    text_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view TakeUntil(char end) {
    const std::size_t end_index = text_.find(end);
    if (end_index == std::string_view::npos) throw Failure(fmt::format("no '{}' follows", end));
    const std::string_view taken = Take(end_index);
    Take(1);
    return taken;
  }

  std::string HexByte() {
    const std::string_view digits = Take(2);
    const auto code = ToNumber(digits, 16);
    if (digits.size() != 2 || !code) throw Failure("\\x needs two hexadecimal digits");
    return std::string(1, static_cast<char>(*code));
  }

  static char OneByte(char kind) {
    switch (kind) {
      case 'r':
        return '\r';
      case 'n':
        return '\n';
      case 't':
        return '\t';
      case '0':
        return '\0';
      case 's':
        return ' ';
      case '\\':
        return '\\';
      default:
        throw Failure(fmt::format("unknown escape \\{}", kind));
    }
  }

  static std::string Repeated(std::string_view text) {
    const bool is_pattern = text.starts_with('@');
    const std::size_t star = is_pattern ? 0 : text.rfind('*');
    if (star == std::string_view::npos) throw Failure("\\[ needs TEXT*N or @N");
    const auto count = ToNumber(text.substr(star + 1));
    if (!count || *count > kExpandedBytesMax) throw Failure("bad count in \\[...]");
    if (is_pattern) return PatternBytes(*count);
    std::string bytes;
    for (std::size_t copy = 0; copy < *count; ++copy) {
      for (Reader reader(text.substr(0, star)); !reader.AtEnd();) {
        std::string variable;
        bytes += reader.Next(&variable, copy);
        if (!variable.empty()) throw Failure("no variables in \\[...]");
      }
      if (bytes.size() > kExpandedBytesMax) throw Failure("\\[...] is too long");
    }
    return bytes;
  }

  std::string_view text_;
};

std::string Now(std::string_view offset) {
  long long seconds = std::time(nullptr);
  if (!offset.empty()) {
    const auto amount = ToNumber(offset.substr(1));
    if (!amount || (offset[0] != '+' && offset[0] != '-')) throw Failure("write now+N or now-N");
    seconds += (offset[0] == '+' ? 1 : -1) * static_cast<long long>(*amount);
  }
  return std::to_string(seconds);
}

bool IsNow(std::string_view variable) {
  return variable == "now" || variable.starts_with("now+") || variable.starts_with("now-");
}

}  // namespace

Template::Template(std::string_view text, const Variables& bound) {
  Reader reader(text);
  while (!reader.AtEnd()) {
    std::string variable;
    Append(reader.Next(&variable, 0));
    if (!variable.empty()) AddVariable(variable, bound);
  }
}

void Template::Append(std::string_view bytes) {
  if (pieces_.empty() || !pieces_.back().variable.empty()) pieces_.emplace_back();
  pieces_.back().bytes += bytes;
}

void Template::AddVariable(std::string_view name, const Variables& bound) {
  const auto found = bound.find(name);
  if (found != bound.end()) return Append(found->second);
  if (IsNow(name)) Now(name.substr(3));  // Complains here, not in the middle of a conversation.
  pieces_.push_back({.bytes = {}, .variable = std::string(name)});
}

std::string Template::Expand(const Variables& variables) const {
  std::string text;
  for (const Piece& piece : pieces_) {
    text += piece.bytes;
    if (piece.variable.empty()) continue;
    if (IsNow(piece.variable)) {
      text += Now(std::string_view(piece.variable).substr(3));
      continue;
    }
    const auto found = variables.find(piece.variable);
    if (found == variables.end()) throw Failure("nothing was captured as " + piece.variable);
    text += found->second;
  }
  return text;
}

std::vector<std::string> Template::OpenVariables() const {
  std::vector<std::string> names;
  for (const Piece& piece : pieces_) {
    if (!piece.variable.empty() && !IsNow(piece.variable)) names.push_back(piece.variable);
  }
  return names;
}

}  // namespace support
