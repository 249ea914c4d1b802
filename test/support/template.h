// Template: the text of a transcript's line, with escapes resolved and places for values that are
// only known when it is played.
//
//   \r \n \t \0 \\ \xHH   that byte
//   \s                    a blank (at the end of a line, where editors remove it)
//   \[TEXT*N]             TEXT N times; in it, \# is the number of the copy, from 0
//   \[@N]                 PatternBytes(N)
//   \{NAME}               a captured value, or the variable of the loop around it
//   \{now+N}              the Unix time when it is sent, N seconds later (now-N: earlier)
//
// Owner: the Step it belongs to. Threads: any, read only.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace support {

using Variables = std::map<std::string, std::string, std::less<>>;

class Template {
 public:
  Template() = default;
  // `bound`: variables that are known already and become plain text. Throws Failure on a bad
  // escape.
  Template(std::string_view text, const Variables& bound);

  // Adds plain bytes at the end.
  void Append(std::string_view bytes);
  // Throws Failure when a variable has no value.
  [[nodiscard]] std::string Expand(const Variables& variables) const;
  // Names of the variables still open, "now" left out.
  [[nodiscard]] std::vector<std::string> OpenVariables() const;

 private:
  // Bytes, then the value of a variable; a name that is empty stands for nothing.
  struct Piece {
    std::string bytes;
    std::string variable;
  };
  void AddVariable(std::string_view name, const Variables& bound);

  std::vector<Piece> pieces_;
};

}  // namespace support
