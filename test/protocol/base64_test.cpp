// Base64 keys: there and back, and what is none.
#include "server/protocol/base64.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

namespace {

using protocol::DecodeBase64;
using protocol::DecodedKey;
using protocol::EncodeBase64;

std::string Encoded(std::string_view bytes) {
  std::string text(protocol::Base64Bytes(bytes.size()), '\0');
  CHECK(EncodeBase64(text.data(), bytes) == text.data() + text.size());
  return text;
}

TEST_CASE("base64 is as RFC 4648 shows it") {
  CHECK(Encoded("f") == "Zg==");
  CHECK(Encoded("fo") == "Zm8=");
  CHECK(Encoded("foo") == "Zm9v");
  CHECK(Encoded("foobar") == "Zm9vYmFy");
  CHECK(Encoded("\xff\xfe\xfd") == "//79");
}

TEST_CASE("what is encoded decodes to itself, up to the longest key") {
  std::mt19937 random(20261201);
  DecodedKey room;
  for (std::size_t bytes = 1; bytes <= 186; ++bytes) {
    std::string key;
    for (std::size_t i = 0; i < bytes; ++i) key += static_cast<char>(random());
    const auto decoded = DecodeBase64(Encoded(key), &room);
    REQUIRE(decoded.has_value());
    CHECK(*decoded == key);
  }
}

TEST_CASE("what is no base64 decodes to nothing") {
  DecodedKey room;
  for (const std::string_view text : {"", "Z", "Zg", "Zg=", "Zg===", "====", "Z===", "Zm9v=",
                                      "Zm=v", "Zm9v\n", "Z*9v", "Zm9vYm-y"}) {
    CAPTURE(text);
    CHECK_FALSE(DecodeBase64(text, &room).has_value());
  }
  CHECK_FALSE(DecodeBase64(std::string(252, 'A'), &room).has_value());
}

}  // namespace
