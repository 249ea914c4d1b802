// ClassList: which size classes a dump or a crawl is about.
//
// Threads: values; any.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace server {

class ClassList {
 public:
  [[nodiscard]] bool Has(std::uint8_t class_id) const { return classes_[class_id]; }
  void Add(std::uint8_t class_id) { classes_.set(class_id); }
  void AddAll() { classes_.set(); }

 private:
  std::bitset<256> classes_;
};

inline constexpr std::string_view kBadClass = "BADCLASS invalid class id\r\n";

// "all", "hash", or numbers with commas between; nothing if one of them is no class.
std::optional<ClassList> ReadClassList(std::string_view text, std::size_t class_count);

}  // namespace server
