// Input: what a client has sent and what has not been carried out yet, in order.
//
// Bytes lie in up to three places, read in this order:
//   carry    the beginning of a request whose end had not come yet, joined with that end
//   parked   bytes copied out of receive buffers when the client did not read its answers
//   buffers  the receive buffers themselves (ByteSource), parsed where they lie
//
// View() is the unread rest of the first place that has any. What has been consumed stays where it
// is until Release(), so that commands may point into it. Parked bytes and the oldest buffer are
// called the source; `source_` is its unread rest.
//
// Owner: the connection. Threads: its worker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "server/byte_source.h"
#include "server/chunk_pool.h"
#include "stats/block.h"

namespace server {

class Input {
 public:
  // `carries` gives chunks of kCarryBytes.
  Input(ByteSource* buffers, ChunkPool* carries, stats::Block* block)
      : buffers_(buffers), carries_(carries), block_(block) {}
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();

  static constexpr std::size_t kCarryBytes = 2304;

  // Unread bytes in one piece. Empty: Release() may lead to more.
  [[nodiscard]] std::string_view View() const {
    return carry_at_ != carry_bytes_ ? CarryView() : source_;
  }
  // The first `bytes` of View() have been dealt with.
  void Consume(std::size_t bytes);
  // A place to go back to, until the next Release().
  struct Mark {
    std::size_t source_bytes = 0;
    std::uint16_t carry_at = 0;
  };
  [[nodiscard]] Mark Here() const {
    return {.source_bytes = source_.size(), .carry_at = carry_at_};
  }
  void GoBack(Mark mark);
  // Frees what has been consumed and goes on to the next buffer. Views got before end here.
  void Release();
  // View() is the beginning of a request: joins it with what came after, up to `needed_bytes` in
  // all, or, if that is 0, up to the next line end. False: nothing has come after it; it is kept.
  // Views got before end here.
  bool Join(std::size_t needed_bytes);

  // Copies everything out of the receive buffers, which all connections share. Views end here.
  void Park();
  [[nodiscard]] bool has_parked() const { return parked_ != nullptr; }
  [[nodiscard]] bool is_empty() const { return View().empty() && buffers_->Front().empty(); }

 private:
  [[nodiscard]] std::string_view CarryView() const {
    return std::string_view(carry_.get(), carry_bytes_).substr(carry_at_);
  }
  void AppendToCarry(std::string_view bytes);
  void PopBuffer();
  void FreeParked();

  ByteSource* buffers_;
  ChunkPool* carries_;
  stats::Block* block_;
  std::string_view source_;  // Into parked_, or into the oldest buffer when has_buffer_.
  ChunkPool::Chunk carry_;
  std::unique_ptr<char[]> parked_;
  std::size_t parked_bytes_ = 0;
  std::uint16_t carry_bytes_ = 0;
  std::uint16_t carry_at_ = 0;
  bool has_buffer_ = false;
};

}  // namespace server
