#include "server/protocol/base64.h"

#include <algorithm>
#include <cstdint>

namespace protocol {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr char kPadding = '=';
constexpr std::uint8_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> MakeValues() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t digit = 0; digit < kDigits.size(); ++digit) {
    values[static_cast<std::uint8_t>(kDigits[digit])] = static_cast<std::uint8_t>(digit);
  }
  return values;
}
constexpr std::array<std::uint8_t, 256> kValues = MakeValues();

constexpr std::uint32_t Byte(char byte) { return static_cast<std::uint8_t>(byte); }

}  // namespace

char* EncodeBase64(char* to, std::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(bytes.size(), 3))) {
    std::uint32_t group = Byte(bytes[0]) << 16;
    if (bytes.size() > 1) group |= Byte(bytes[1]) << 8;
    if (bytes.size() > 2) group |= Byte(bytes[2]);
    *to++ = kDigits[group >> 18];
    *to++ = kDigits[group >> 12 & 63];
    *to++ = bytes.size() > 1 ? kDigits[group >> 6 & 63] : kPadding;
    *to++ = bytes.size() > 2 ? kDigits[group & 63] : kPadding;
  }
  return to;
}

std::optional<std::string_view> DecodeBase64(std::string_view text, DecodedKey* room) {
  if (text.empty() || text.size() % 4 != 0 || text.size() > kKeyBytesMax) return std::nullopt;
  const std::size_t padding_bytes = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  char* to = room->data();
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const bool is_last = at + 4 == text.size();
    const std::size_t digit_count = is_last ? 4 - padding_bytes : 4;
    std::uint32_t group = 0;
    for (std::size_t digit = 0; digit < 4; ++digit) {
      const std::uint8_t value =
          digit < digit_count ? kValues[static_cast<std::uint8_t>(text[at + digit])] : 0;
      if (value == kNoDigit) return std::nullopt;
      group = group << 6 | value;
    }
    for (std::size_t byte = 0; byte + 1 < digit_count; ++byte) {
      *to++ = static_cast<char>(group >> (16 - 8 * byte) & 255);
    }
  }
  return std::string_view(room->data(), static_cast<std::size_t>(to - room->data()));
}

}  // namespace protocol
