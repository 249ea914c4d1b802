// ChunkPool: small pieces of memory of one size, kept for reuse by one thread.
//
// Owner: the worker. Threads: its own.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace server {

class ChunkPool {
 public:
  using Chunk = std::unique_ptr<char[]>;

  // Keeps at most `kept_max` unused chunks.
  ChunkPool(std::size_t chunk_bytes, std::size_t kept_max)
      : chunk_bytes_(chunk_bytes), kept_max_(kept_max) {
    kept_.reserve(kept_max);
  }

  [[nodiscard]] std::size_t chunk_bytes() const { return chunk_bytes_; }

  Chunk Take() {
    if (kept_.empty()) return std::make_unique_for_overwrite<char[]>(chunk_bytes_);
    Chunk chunk = std::move(kept_.back());
    kept_.pop_back();
    return chunk;
  }

  void Return(Chunk chunk) {
    if (chunk != nullptr && kept_.size() < kept_max_) kept_.push_back(std::move(chunk));
  }

 private:
  std::size_t chunk_bytes_;
  std::size_t kept_max_;
  std::vector<Chunk> kept_;
};

}  // namespace server
