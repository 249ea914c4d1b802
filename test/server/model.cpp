#include "test/server/model.h"

#include <fmt/format.h>

#include <array>
#include <sstream>

#include "test/support/bytes.h"

namespace server_test {
namespace {

constexpr std::uint64_t kTextKeyCount = 400;
constexpr std::uint64_t kNumberKeyCount = 100;
constexpr std::size_t kValueBytesMax = 30'000;
constexpr std::uint64_t kNoId = UINT64_MAX;  // A CAS id that no item has.

std::uint64_t SmallestWithDigits(std::size_t digit_count) {
  std::uint64_t number = 1;
  while (--digit_count > 0) number *= 10;
  return number;
}

}  // namespace

Exchange Model::Next() {
  const std::uint64_t dice = Below(1000);
  if (dice < 250) return Get();
  if (dice < 450) return Store();
  if (dice < 520) return StoreNumber();
  if (dice < 620) return Count();
  if (dice < 700) return Concatenate();
  if (dice < 760) return Delete();
  if (dice < 820) return GetAndTouch();
  if (dice < 860) return Touch();
  if (dice < 900) return CompareAndSwap();
  if (dice < 930) return CountText();
  if (dice < 950) return Expire();
  if (dice < 970) return BadStore();
  if (dice < 999 || !flushes_) return Nonsense();
  return FlushAll();
}

Exchange Model::Store() {
  const std::uint64_t verb = Below(4);
  const std::string key = TextKey();
  const bool exists = items_.contains(key);
  Item item{.value = Text(), .flags = OneIn(2) ? 0 : static_cast<std::uint32_t>(random_())};
  const std::string line = fmt::format("{} {} {} {} {}",
                                       verb == 0   ? "add"
                                       : verb == 1 ? "replace"
                                                   : "set",
                                       key, item.flags, OneIn(2) ? 0 : 10'000, item.value.size());
  const bool is_stored = verb >= 2 || (verb == 1) == exists;
  const std::string data = item.value + "\r\n";
  if (is_stored) items_[key] = std::move(item);
  return MaybeQuiet(line, data, is_stored ? "STORED\r\n" : "NOT_STORED\r\n");
}

Exchange Model::StoreNumber() {
  const std::string key = NumberKey();
  const std::string value = std::to_string(random_() >> Below(64));
  items_[key] = {.value = value, .flags = 0};
  return MaybeQuiet(fmt::format("set {} 0 0 {}", key, value.size()), value + "\r\n", "STORED\r\n");
}

Exchange Model::Concatenate() {
  const bool at_end = OneIn(2);
  const std::string key = TextKey();
  const std::string text = Text();
  const std::string line =
      fmt::format("{} {} {} 0 {}", at_end ? "append" : "prepend", key, Below(100), text.size());
  const auto found = items_.find(key);
  if (found == items_.end()) return MaybeQuiet(line, text + "\r\n", "NOT_STORED\r\n");
  std::string& value = found->second.value;
  if (value.size() + text.size() > kValueBytesMax) return Delete();
  value = at_end ? value + text : text + value;
  return MaybeQuiet(line, text + "\r\n", "STORED\r\n");
}

Exchange Model::CompareAndSwap() {
  const std::string key = AnyKey();
  const std::string text = Text();
  return MaybeQuiet(fmt::format("cas {} 0 0 {} {}", key, text.size(), kNoId), text + "\r\n",
                    items_.contains(key) ? "EXISTS\r\n" : "NOT_FOUND\r\n");
}

std::string Model::Values(const std::string& keys) const {
  std::string values;
  std::istringstream stream(keys);
  for (std::string key; stream >> key;) {
    const auto found = items_.find(key);
    if (found == items_.end()) continue;
    const Item& item = found->second;
    values += fmt::format("VALUE {} {} {}\r\n", key, item.flags, item.value.size());
    values += item.value + "\r\n";
  }
  return values + "END\r\n";
}

Exchange Model::Get() {
  std::string keys;
  const std::uint64_t key_count = OneIn(4) ? 1 + Below(30) : 1;
  for (std::uint64_t i = 0; i < key_count; ++i) keys += " " + AnyKey();
  return {.request = fmt::format("get{}\r\n", keys), .answer = Values(keys)};
}

Exchange Model::GetAndTouch() {
  std::string keys = AnyKey();
  if (OneIn(2)) keys += " " + AnyKey();
  return {.request = fmt::format("gat {} {}\r\n", Below(2) * 10'000, keys), .answer = Values(keys)};
}

Exchange Model::Count() {
  const std::string key = NumberKey();
  const auto found = items_.find(key);
  const bool is_up = OneIn(2);
  std::uint64_t delta = random_() >> Below(64);
  std::string answer = "NOT_FOUND\r\n";
  if (found != items_.end()) {
    std::string& value = found->second.value;
    const std::uint64_t number = std::stoull(value);
    const std::uint64_t room = is_up              ? UINT64_MAX - number
                               : value.size() > 1 ? number - SmallestWithDigits(value.size())
                                                  : UINT64_MAX;  // It stops at 0: one digit.
    if (delta > room) delta = room == 0 ? 0 : delta % room;
    value = std::to_string(is_up ? number + delta : number - std::min(number, delta));
    answer = value + "\r\n";
  }
  return MaybeQuiet(fmt::format("{} {} {}", is_up ? "incr" : "decr", key, delta), "", answer);
}

Exchange Model::CountText() {
  const std::string key = TextKey();
  const std::string answer =
      items_.contains(key) ? "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"
                           : "NOT_FOUND\r\n";
  return MaybeQuiet(fmt::format("{} {} 1", OneIn(2) ? "incr" : "decr", key), "", answer);
}

Exchange Model::Touch() {
  const std::string key = AnyKey();
  return MaybeQuiet(fmt::format("touch {} {}", key, Below(2) * 10'000), "",
                    items_.contains(key) ? "TOUCHED\r\n" : "NOT_FOUND\r\n");
}

Exchange Model::Delete() {
  const std::string key = AnyKey();
  const bool is_deleted = items_.erase(key) > 0;
  return MaybeQuiet(fmt::format("delete {}{}", key, OneIn(5) ? " 0" : ""), "",
                    is_deleted ? "DELETED\r\n" : "NOT_FOUND\r\n");
}

Exchange Model::FlushAll() {
  items_.clear();
  return MaybeQuiet("flush_all", "", "OK\r\n");
}

Exchange Model::Expire() {
  const std::string key = AnyKey();
  items_.erase(key);
  return MaybeQuiet(fmt::format("set {} 0 -1 4", key), "gone\r\n", "STORED\r\n");
}

Exchange Model::Nonsense() {
  static const std::array<Exchange, 7> kExchanges{{
      {.request = "\r\n", .answer = "CLIENT_ERROR bad command line format\r\n"},
      {.request = "get\r\n", .answer = "CLIENT_ERROR bad command line format\r\n"},
      {.request = "incr n1 one\r\n", .answer = "CLIENT_ERROR invalid numeric delta argument\r\n"},
      {.request = "touch t1 soon\r\n", .answer = "CLIENT_ERROR invalid exptime argument\r\n"},
      {.request = "GET t1\r\n", .answer = "ERROR\r\n"},
      {.request = "bogus noreply\r\n", .answer = ""},
      {.request = "verbosity 0\r\n", .answer = "OK\r\n"},
  }};
  return kExchanges[Below(kExchanges.size())];
}

Exchange Model::BadStore() {
  const std::string key = AnyKey();
  switch (Below(4)) {
    case 0:
      return {.request = fmt::format("set {} 0 0 3\r\nabcde", key),
              .answer = "CLIENT_ERROR bad data chunk\r\n"};
    case 1:
      return {.request = fmt::format("set {} flags 0 7\r\nget t1\n\r\n", key),
              .answer = "CLIENT_ERROR bad command line format\r\n"};
    case 2:
      return {.request = fmt::format("set {}{:0250} 0 0 4\r\nquit\r\n", key, 0),
              .answer = "CLIENT_ERROR bad command line format\r\n"};
    default:
      return {.request = fmt::format("set {} 0 0 -1\r\n", key),
              .answer = "CLIENT_ERROR bad command line format\r\n"};
  }
}

std::uint64_t Model::Below(std::uint64_t limit) { return random_() % limit; }
std::string Model::TextKey() { return fmt::format("t{}", Below(kTextKeyCount)); }
std::string Model::NumberKey() { return fmt::format("n{}", Below(kNumberKeyCount)); }
std::string Model::AnyKey() { return OneIn(4) ? NumberKey() : TextKey(); }

std::string Model::Text() {
  static const std::string kBytes = support::PatternBytes(kValueBytesMax);
  const std::size_t bytes = OneIn(50) ? Below(20'000) : Below(100);
  return bytes == 0 ? "" : "v" + kBytes.substr(Below(10'000), bytes - 1);
}

Exchange Model::MaybeQuiet(const std::string& line, const std::string& data,
                           const std::string& answer) {
  if (OneIn(7)) return {.request = line + " noreply\r\n" + data, .answer = ""};
  return {.request = line + "\r\n" + data, .answer = answer};
}

}  // namespace server_test
