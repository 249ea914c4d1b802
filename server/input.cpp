#include "server/input.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "coro/ensure.h"
#include "server/protocol/command.h"

namespace server {

static_assert(Input::kCarryBytes > protocol::kLineBytesMax);

Input::~Input() {
  FreeParked();
  carries_->Return(std::move(carry_));
}

void Input::Consume(std::size_t bytes) {
  DEBUG_ENSURE(bytes <= View().size());
  if (carry_at_ == carry_bytes_) {
    source_.remove_prefix(bytes);
  } else {
    carry_at_ = static_cast<std::uint16_t>(carry_at_ + bytes);
  }
}

void Input::GoBack(Mark mark) {
  DEBUG_ENSURE(mark.source_bytes >= source_.size());
  const std::size_t back_bytes = mark.source_bytes - source_.size();
  source_ = {source_.data() - back_bytes, mark.source_bytes};
  carry_at_ = mark.carry_at;
}

void Input::Release() {
  if (carry_ && carry_at_ == carry_bytes_) {
    carries_->Return(std::move(carry_));
    carry_bytes_ = carry_at_ = 0;
  }
  if (!source_.empty()) return;
  if (parked_) FreeParked();
  if (has_buffer_) PopBuffer();
  source_ = buffers_->Front();
  has_buffer_ = !source_.empty();
}

void Input::PopBuffer() {
  block_->bytes_read.Add(buffers_->Front().size());
  buffers_->Pop();
  has_buffer_ = false;
}

bool Input::Join(std::size_t needed_bytes) {
  Release();
  if (!carry_) {
    if (source_.empty()) return false;
    carry_ = carries_->Take();
    AppendToCarry(source_);
    source_ = {};
    Release();
  } else if (carry_at_ != 0) {
    const std::string_view rest = CarryView();
    std::memmove(carry_.get(), rest.data(), rest.size());
    carry_bytes_ = static_cast<std::uint16_t>(rest.size());
    carry_at_ = 0;
  }
  if (source_.empty()) return false;
  const std::size_t wanted_bytes =
      needed_bytes != 0 ? needed_bytes - carry_bytes_ : source_.find('\n') + 1;
  // No line end: all of it.
  const std::size_t found_bytes = wanted_bytes == 0 ? source_.size() : wanted_bytes;
  const std::size_t taken_bytes =
      std::min({found_bytes, source_.size(), kCarryBytes - carry_bytes_});
  AppendToCarry(source_.substr(0, taken_bytes));
  source_.remove_prefix(taken_bytes);
  return true;
}

void Input::AppendToCarry(std::string_view bytes) {
  ENSURE(carry_bytes_ + bytes.size() <= kCarryBytes);
  std::memcpy(carry_.get() + carry_bytes_, bytes.data(), bytes.size());
  carry_bytes_ = static_cast<std::uint16_t>(carry_bytes_ + bytes.size());
}

void Input::Park() {
  if (buffers_->Front().empty()) return;
  // The unread rest of the source, and the buffers behind it.
  std::size_t bytes = source_.size() + buffers_->bytes();
  if (has_buffer_) bytes -= buffers_->Front().size();
  auto memory = std::make_unique_for_overwrite<char[]>(bytes);
  char* to = std::ranges::copy(source_, memory.get()).out;
  if (has_buffer_) PopBuffer();
  for (; !buffers_->Front().empty(); PopBuffer()) to = std::ranges::copy(buffers_->Front(), to).out;
  FreeParked();
  parked_ = std::move(memory);
  parked_bytes_ = bytes;
  source_ = {parked_.get(), bytes};
  block_->parked_input_bytes.Add(static_cast<std::int64_t>(bytes));
}

void Input::FreeParked() {
  block_->parked_input_bytes.Add(-static_cast<std::int64_t>(parked_bytes_));
  parked_.reset();
  parked_bytes_ = 0;
}

}  // namespace server
