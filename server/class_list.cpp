#include "server/class_list.h"

#include <algorithm>

#include "server/protocol/number.h"

namespace server {

std::optional<ClassList> ReadClassList(std::string_view text, std::size_t class_count) {
  ClassList list;
  if (text == "all" || text == "hash") {
    list.AddAll();
    return list;
  }
  do {
    const std::size_t end = std::min(text.find(','), text.size());
    const auto number = protocol::ParseNumber<std::uint32_t>(text.substr(0, end));
    if (!number || *number < 1 || *number > class_count) return std::nullopt;
    list.Add(static_cast<std::uint8_t>(*number));
    text.remove_prefix(std::min(end + 1, text.size()));
  } while (!text.empty());
  return list;
}

}  // namespace server
