#include "server/reply.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "coro/ensure.h"
#include "server/limits.h"

namespace server {

char* ReplyArena::Room(std::size_t bytes, std::size_t* room_bytes) {
  while (current_ < chunks_.size() && chunks_[current_].bytes - used_bytes_ < bytes) {
    ++current_;
    used_bytes_ = 0;
  }
  if (current_ == chunks_.size()) {
    const std::size_t chunk_bytes = std::max(bytes, kChunkBytes);
    chunks_.push_back({std::make_unique_for_overwrite<char[]>(chunk_bytes), chunk_bytes});
    used_bytes_ = 0;
  }
  *room_bytes = chunks_[current_].bytes - used_bytes_;
  return chunks_[current_].memory.get() + used_bytes_;
}

bool ReplyArena::Owns(const void* memory) const {
  const auto* byte = static_cast<const char*>(memory);
  return std::ranges::any_of(chunks_, [byte](const Chunk& chunk) {
    return std::greater_equal<>()(byte, chunk.memory.get()) &&
           std::less<>()(byte, chunk.memory.get() + chunk.bytes);
  });
}

void ReplyArena::Empty() {
  // Chunks that this turn did not use are nobody's.
  const std::size_t used_count = std::min(current_ + 1, chunks_.size());
  if (chunks_.size() > kKeptChunkCount) chunks_.resize(std::max(used_count, kKeptChunkCount));
  current_ = 0;
  used_bytes_ = 0;
  turn_bytes_ = 0;
}

void Reply::Begin() {
  DEBUG_ENSURE(pins_.empty());
  pieces_.clear();
  room_ = nullptr;
  room_bytes_ = 0;
  bytes_ = 0;
}

bool Reply::is_full() const {
  // Four more pieces is what one command may add at most, but for chains, which end the reply
  // anyway.
  return bytes_ >= kReplyBytesMax || pieces_.size() + 4 > uring::Sender::kPieceCountMax;
}

char* Reply::Reserve(std::size_t bytes) {
  if (room_bytes_ < bytes) room_ = arena_->Room(bytes, &room_bytes_);
  return room_;
}

void Reply::Commit(const char* end) {
  const auto bytes = static_cast<std::size_t>(end - room_);
  DEBUG_ENSURE(bytes <= room_bytes_);
  AddPiece(room_, bytes);
  arena_->Use(bytes);
  room_ += bytes;
  room_bytes_ -= bytes;
}

void Reply::AddPiece(const char* data, std::size_t bytes) {
  bytes_ += bytes;
  if (!pieces_.empty()) {
    iovec& last = pieces_.back();
    if (static_cast<char*>(last.iov_base) + last.iov_len == data) {
      last.iov_len += bytes;
      return;
    }
  }
  pieces_.push_back({const_cast<char*>(data), bytes});
}

void Reply::Append(std::string_view text) {
  if (text.empty()) return;
  char* to = Reserve(text.size());
  std::memcpy(to, text.data(), text.size());
  Commit(to + text.size());
}

void Reply::AppendValue(cache::Item* item) {
  const bool in_place = item->value_bytes() >= kSendInPlaceBytesMin && cache_->Pin(item);
  if (in_place) {
    pins_.push_back(item);
    cache_->ForEachPiece(item,
                         [this](std::string_view piece) { AddPiece(piece.data(), piece.size()); });
    return;
  }
  char* to = Reserve(item->value_bytes());
  cache_->ForEachPiece(item, [&to](std::string_view piece) {
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  });
  Commit(to);
}

Reply::Place Reply::Here() const {
  return {.piece_count = pieces_.size(),
          .last_piece_bytes = pieces_.empty() ? 0 : pieces_.back().iov_len,
          .pin_count = pins_.size(),
          .bytes = bytes_};
}

void Reply::Mark() { mark_ = Here(); }

void Reply::RollBack() {
  while (pins_.size() > mark_.pin_count) {
    cache_->Unpin(pins_.back());
    pins_.pop_back();
  }
  pieces_.resize(mark_.piece_count);
  if (!pieces_.empty()) pieces_.back().iov_len = mark_.last_piece_bytes;
  bytes_ = mark_.bytes;
}

Outgoing Reply::Finish(std::vector<cache::Item*>* pins) {
  const std::size_t pieces_bytes = pieces_.size() * sizeof(iovec);
  const std::size_t bytes = pieces_bytes + alignof(iovec);
  std::size_t room_bytes = 0;
  void* room = arena_->Room(bytes, &room_bytes);
  auto* pieces = static_cast<iovec*>(std::align(alignof(iovec), pieces_bytes, room, room_bytes));
  std::ranges::copy(pieces_, pieces);
  arena_->Use(bytes);
  DEBUG_ENSURE(pins->empty());
  if (!pins_.empty()) pins->swap(pins_);
  room_bytes_ = 0;
  return {.pieces = {pieces, pieces_.size()}, .bytes = bytes_};
}

}  // namespace server
