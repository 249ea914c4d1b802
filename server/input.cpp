#include "server/input.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "coro/ensure.h"
#include "server/protocol/command.h"

namespace server {
namespace {

static_assert(Input::kCarryBytes > protocol::kLineBytesMax);

std::string_view Text(std::span<const char> bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace

Input::~Input() {
  FreeParked();
  carries_->Return(std::move(carry_));
}

std::string_view Input::CarryView() const {
  return std::string_view(carry_.get(), carry_bytes_).substr(carry_at_);
}

std::string_view Input::SourceView() const {
  if (parked_) return std::string_view(parked_.get(), parked_bytes_).substr(parked_at_);
  return receiver_->has_data() ? Text(receiver_->Front()).substr(buffer_at_) : std::string_view();
}

void Input::Consume(std::size_t bytes) {
  DEBUG_ENSURE(bytes <= View().size());
  if (carry_at_ == carry_bytes_) return ConsumeSource(bytes);
  carry_at_ = static_cast<std::uint16_t>(carry_at_ + bytes);
}

void Input::ConsumeSource(std::size_t bytes) {
  if (parked_) {
    parked_at_ += bytes;
  } else {
    buffer_at_ += static_cast<std::uint32_t>(bytes);
  }
}

void Input::GoBack(Mark mark) {
  carry_at_ = mark.carry_at;
  if (parked_) {
    parked_at_ = mark.source_at;
  } else {
    buffer_at_ = static_cast<std::uint32_t>(mark.source_at);
  }
}

void Input::Release() {
  if (carry_ && carry_at_ == carry_bytes_) {
    carries_->Return(std::move(carry_));
    carry_bytes_ = carry_at_ = 0;
  }
  if (!SourceView().empty()) return;
  if (parked_) {
    FreeParked();
  } else if (receiver_->has_data()) {
    PopBuffer();
  }
}

void Input::PopBuffer() {
  block_->bytes_read.Add(receiver_->Front().size());
  receiver_->Pop();
  buffer_at_ = 0;
}

bool Input::Join() {
  Release();
  if (!carry_) {
    if (View().empty()) return false;
    carry_ = carries_->Take();
    const std::string_view beginning = SourceView();
    AppendToCarry(beginning);
    ConsumeSource(beginning.size());
    Release();
  } else if (carry_at_ != 0) {
    const std::string_view rest = CarryView();
    std::memmove(carry_.get(), rest.data(), rest.size());
    carry_bytes_ = static_cast<std::uint16_t>(rest.size());
    carry_at_ = 0;
  }
  const std::string_view next = SourceView();
  if (next.empty()) return false;
  const std::size_t line_bytes = std::min(next.find('\n'), next.size() - 1) + 1;
  const std::size_t taken_bytes = std::min(kCarryBytes - carry_bytes_, line_bytes);
  AppendToCarry(next.substr(0, taken_bytes));
  ConsumeSource(taken_bytes);
  return true;
}

void Input::AppendToCarry(std::string_view bytes) {
  ENSURE(carry_bytes_ + bytes.size() <= kCarryBytes);
  std::memcpy(carry_.get() + carry_bytes_, bytes.data(), bytes.size());
  carry_bytes_ = static_cast<std::uint16_t>(carry_bytes_ + bytes.size());
}

void Input::Park() {
  if (!receiver_->has_data()) return;
  const std::string_view kept = parked_ ? SourceView() : std::string_view();
  std::size_t bytes = kept.size();
  receiver_->ForEachHeld([&bytes](std::span<const char> buffer) { bytes += buffer.size(); });
  auto memory = std::make_unique_for_overwrite<char[]>(bytes);
  char* to = std::ranges::copy(kept, memory.get()).out;
  while (receiver_->has_data()) {
    to = std::ranges::copy(Text(receiver_->Front()).substr(buffer_at_), to).out;
    PopBuffer();
  }
  FreeParked();
  parked_ = std::move(memory);
  parked_bytes_ = static_cast<std::size_t>(to - parked_.get());
  block_->parked_input_bytes.Add(static_cast<std::int64_t>(parked_bytes_));
}

void Input::FreeParked() {
  block_->parked_input_bytes.Add(-static_cast<std::int64_t>(parked_bytes_));
  parked_.reset();
  parked_bytes_ = parked_at_ = 0;
}

}  // namespace server
