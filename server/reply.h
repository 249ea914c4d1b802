// Reply: the answers to what one connection has sent, ready to be sent together.
//
// Answers are written into the worker's ReplyArena, one connection's behind another's; the arena is
// emptied once a turn, when the kernel has taken everything (see uring/sender.h). Large values are
// not copied: the reply points into the item, which it pins. A worker builds one reply at a time.
//
//   reply.Begin();
//   char* to = reply.Reserve(kHeaderBytesMax); ... reply.Commit(end);
//   reply.Append(words::kEnd);
//   const Outgoing outgoing = reply.Finish();     // valid until the arena is emptied
//
// Owner: the worker. Threads: its own.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "server/cache/cache.h"
#include "uring/sender.h"

namespace server {

// Memory that is handed out front to back and taken back all at once.
class ReplyArena {
 public:
  static constexpr std::size_t kChunkBytes = std::size_t{256} << 10;
  static constexpr std::size_t kKeptChunkCount = 4;

  // At least `bytes` in one piece; up to *room_bytes may be used. What is used is told by Use().
  char* Room(std::size_t bytes, std::size_t* room_bytes);
  void Use(std::size_t bytes) {
    used_bytes_ += bytes;
    turn_bytes_ += bytes;
  }
  // Everything handed out is free again; its bytes stay as they are until they are handed out anew.
  void Empty();
  // Whether `memory` is part of it.
  [[nodiscard]] bool Owns(const void* memory) const;
  // Bytes used since it was emptied.
  [[nodiscard]] std::size_t turn_bytes() const { return turn_bytes_; }

 private:
  struct Chunk {
    std::unique_ptr<char[]> memory;
    std::size_t bytes;
  };
  std::vector<Chunk> chunks_;
  std::size_t current_ = 0;     // Index of the chunk in use.
  std::size_t used_bytes_ = 0;  // Of that chunk.
  std::size_t turn_bytes_ = 0;
};

// What is to be sent. The pieces lie in the arena.
struct Outgoing {
  std::span<iovec> pieces;
  std::size_t bytes = 0;

  [[nodiscard]] bool FitsOneSend() const {
    return pieces.size() <= uring::Sender::kPieceCountMax && bytes <= uring::Sender::kBytesMax;
  }
};

class Reply {
 public:
  Reply(ReplyArena* arena, cache::Cache* cache) : arena_(arena), cache_(cache) {}
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  void Begin();
  [[nodiscard]] bool is_empty() const { return bytes_ == 0; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool is_full() const;

  // Room for `bytes` in one piece; the part before `end` becomes part of the reply.
  char* Reserve(std::size_t bytes);
  void Commit(const char* end);
  void Append(std::string_view text);
  // The value of `item`: by copy, or in place when it is large. `item` must be live in this turn.
  void AppendValue(cache::Item* item);

  // Remembers this place, and goes back to it: what was added since is gone.
  void Mark();
  void RollBack();

  // The reply as pieces to send. The next Begin starts another. The items that pieces point into
  // are handed over in *pins, which must be empty; who gets them unpins them when the pieces have
  // been sent.
  Outgoing Finish(std::vector<cache::Item*>* pins);

 private:
  struct Place {
    std::size_t piece_count = 0;
    std::size_t last_piece_bytes = 0;
    std::size_t pin_count = 0;
    std::size_t bytes = 0;
  };

  void AddPiece(const char* data, std::size_t bytes);
  [[nodiscard]] Place Here() const;

  ReplyArena* arena_;
  cache::Cache* cache_;
  std::vector<iovec> pieces_;
  std::vector<cache::Item*> pins_;
  char* room_ = nullptr;  // Where the next bytes go; null: ask the arena.
  std::size_t room_bytes_ = 0;
  std::size_t bytes_ = 0;
  Place mark_;
};

}  // namespace server
