#include "test/support/pattern.h"

#include <cctype>
#include <regex>
#include <utility>

#include "test/support/failure.h"

namespace support {
namespace {

struct Expression {
  std::string text;                                         // For std::regex.
  std::vector<std::pair<std::string, std::size_t>> groups;  // Name, and number of its group.
};

std::string Quoted(std::string_view value) {
  std::string quoted;
  for (const char byte : value) {
    if (std::isalnum(static_cast<unsigned char>(byte)) == 0) quoted += '\\';
    quoted += byte;
  }
  return quoted;
}

// The name at `open`, where a brace is; empty if it is a counting brace, as in a{3}.
std::string_view NameAt(std::string_view pattern, std::size_t open) {
  const std::size_t close = pattern.find('}', open);
  if (close == std::string_view::npos) throw Failure("no '}' follows in the pattern");
  const std::string_view name = pattern.substr(open + 1, close - open - 1);
  if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0) return {};
  return name;
}

Expression Build(std::string_view pattern, const Variables& known) {
  Expression expression;
  std::size_t group_count = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char byte = pattern[i];
    const std::string_view name = byte == '{' ? NameAt(pattern, i) : std::string_view();
    if (byte == '\\' && i + 1 < pattern.size()) {
      expression.text += pattern.substr(i++, 2);
    } else if (!name.empty()) {
      const auto found = known.find(name);
      if (found == known.end()) expression.groups.emplace_back(name, ++group_count);
      expression.text += found == known.end() ? "(\\S+)" : Quoted(found->second);
      i += name.size() + 1;
    } else {
      if (byte == '(' && pattern.substr(i + 1, 1) != "?") ++group_count;
      expression.text += byte;
    }
  }
  return expression;
}

}  // namespace

std::vector<std::string> NamesIn(std::string_view pattern) {
  const Expression expression = Build(pattern, {});
  try {
    const std::regex compiled(expression.text);
  } catch (const std::regex_error& error) {
    throw Failure(std::string("malformed pattern: ") + error.what());
  }
  std::vector<std::string> names;
  for (const auto& [name, group] : expression.groups) names.push_back(name);
  return names;
}

bool Matches(std::string_view pattern, const std::string& line, Variables* captured) {
  const Expression expression = Build(pattern, *captured);
  std::smatch match;
  if (!std::regex_match(line, match, std::regex(expression.text))) return false;
  for (const auto& [name, group] : expression.groups) (*captured)[name] = match[group].str();
  return true;
}

}  // namespace support
