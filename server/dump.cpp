#include "server/dump.h"

#include <fmt/format.h>

#include <iterator>

#include "server/protocol/base64.h"

namespace server {
namespace {

constexpr std::size_t kItemsAStep = 256;
constexpr std::size_t kCacheDumpBytesMax = std::size_t{2} << 20;
constexpr std::size_t kSizeStepBytes = 32;

// RFC 3986: all but its unreserved characters as %XX.
std::string EncodeUri(std::string_view text) {
  constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string encoded;
  for (const char byte : text) {
    if (kUnreserved.find(byte) != std::string_view::npos) {
      encoded += byte;
    } else {
      fmt::format_to(std::back_inserter(encoded), "%{:02X}", static_cast<unsigned char>(byte));
    }
  }
  return encoded;
}

std::string EncodeBase64(std::string_view key) {
  std::string text(protocol::Base64Bytes(key.size()), '\0');
  protocol::EncodeBase64(text.data(), key);
  return text;
}

}  // namespace

Dump::Dump(const DumpRequest& request, cache::Cache* cache, const Clock* clock)
    : request_(request), cache_(cache), clock_(clock) {
  const bool is_crawl =
      request.kind == DumpRequest::Kind::kMeta || request.kind == DumpRequest::Kind::kMg;
  if (is_crawl) text_ = "OK\r\n";
}

void Dump::Step() {
  cache_->Walk(&cursor_, kItemsAStep, [this](const cache::Item* item) { Visit(item); });
  const bool is_full = HasLimit() && bytes_ >= kCacheDumpBytesMax;
  const bool has_all = request_.item_count_max != 0 && item_count_ >= request_.item_count_max;
  is_done_ = cursor_ == 0 || is_full || has_all;
  if (!is_done_) return;
  if (request_.kind == DumpRequest::Kind::kSizes) return;
  text_ += request_.kind == DumpRequest::Kind::kMg ? "EN\r\n" : "END\r\n";
}

void Dump::Visit(const cache::Item* item) {
  if (!request_.classes.Has(cache_->ClassOf(item))) return;
  if (request_.item_count_max != 0 && item_count_ >= request_.item_count_max) return;
  if (HasLimit() && bytes_ >= kCacheDumpBytesMax) return;
  ++item_count_;
  const std::size_t before = text_.size();
  switch (request_.kind) {
    case DumpRequest::Kind::kMeta:
      AddMeta(item);
      break;
    case DumpRequest::Kind::kMg:
      AddMg(item);
      break;
    case DumpRequest::Kind::kCache:
      AddCache(item);
      break;
    case DumpRequest::Kind::kSizes:
      ++size_counts_[(cache_->TotalBytes(item) / kSizeStepBytes + 1) * kSizeStepBytes];
      break;
    case DumpRequest::Kind::kNone:
      break;
  }
  bytes_ += text_.size() - before;
}

// Seconds since 1970; -1: never.
std::int64_t Dump::UnixExpiry(const cache::Item* item) const {
  const cache::Expiry expiry = item->expiry();
  if (expiry.is_never()) return -1;
  return clock_->UnixSeconds(cache_->now()) + expiry.RemainingSeconds(cache_->now());
}

void Dump::AddMeta(const cache::Item* item) {
  const bool is_binary = item->Has(cache::Item::kKeyBinary);
  const std::int64_t idle_s = cache_->now().steady_s - item->last_access_s();
  fmt::format_to(
      std::back_inserter(text_), "key={}{} exp={} la={} cas={} fetch={} cls={} size={} flags={} \n",
      is_binary ? EncodeBase64(item->key()) : EncodeUri(item->key()), is_binary ? " b" : "",
      UnixExpiry(item), clock_->UnixSeconds(cache_->now()) - idle_s, item->cas(),
      item->Has(cache::Item::kFetched) ? "yes" : "no", cache_->ClassOf(item),
      cache_->TotalBytes(item), item->client_flags());
}

void Dump::AddMg(const cache::Item* item) {
  if (item->Has(cache::Item::kKeyBinary)) {
    fmt::format_to(std::back_inserter(text_), "mg {} b\r\n", EncodeBase64(item->key()));
  } else {
    text_.append("mg ").append(item->key()).append("\r\n");
  }
}

void Dump::AddCache(const cache::Item* item) {
  const std::int64_t expiry_s = UnixExpiry(item);
  fmt::format_to(std::back_inserter(text_), "ITEM {} [{} b; {} s]\r\n", item->key(),
                 item->value_bytes(), expiry_s < 0 ? 0 : expiry_s);
}

}  // namespace server
