// Input: what a connection has received and not yet carried out, in order.
//
// Bytes lie in up to three places, read in this order:
//   carry    the beginning of a line whose end had not come yet, joined with that end when it comes
//   parked   bytes copied out of receive buffers when the connection had to wait for its peer to
//   read buffers  the receive buffers themselves (uring::Receiver), parsed where they lie
//
// View() is the unread rest of the first place that has any. What has been consumed stays where it
// is until Release(), so that commands may point into it. Parked and buffers together are called
// the source.
//
// Owner: the connection. Threads: its worker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "server/chunk_pool.h"
#include "stats/block.h"
#include "uring/receiver.h"

namespace server {

class Input {
 public:
  // `carries` gives chunks of kCarryBytes.
  Input(uring::Receiver* receiver, ChunkPool* carries, stats::Block* block)
      : receiver_(receiver), carries_(carries), block_(block) {}
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();

  static constexpr std::size_t kCarryBytes = 2304;

  // Unread bytes in one piece. Empty: Release() may lead to more.
  [[nodiscard]] std::string_view View() const {
    return carry_at_ != carry_bytes_ ? CarryView() : SourceView();
  }
  // The first `bytes` of View() have been dealt with.
  void Consume(std::size_t bytes);
  // A place to go back to, until the next Release().
  struct Mark {
    std::size_t source_at = 0;
    std::uint16_t carry_at = 0;
  };
  [[nodiscard]] Mark Here() const {
    return {.source_at = parked_ ? parked_at_ : buffer_at_, .carry_at = carry_at_};
  }
  void GoBack(Mark mark);
  // Frees what has been consumed and goes on to the next buffer. Views got before end here.
  void Release();
  // View() is the beginning of a line: joins it with what came after, up to the next line end.
  // False: nothing has come after it; it is kept. Views got before end here.
  bool Join();

  // Copies everything out of the receive buffers, which all connections share. Views got before end
  // here.
  void Park();
  [[nodiscard]] bool has_parked() const { return parked_ != nullptr; }
  [[nodiscard]] bool is_empty() const { return View().empty() && !receiver_->has_data(); }

 private:
  [[nodiscard]] std::string_view CarryView() const;
  [[nodiscard]] std::string_view SourceView() const;
  void ConsumeSource(std::size_t bytes);
  void AppendToCarry(std::string_view bytes);
  void PopBuffer();
  void FreeParked();

  uring::Receiver* receiver_;
  ChunkPool* carries_;
  stats::Block* block_;
  ChunkPool::Chunk carry_;
  std::unique_ptr<char[]> parked_;
  std::size_t parked_bytes_ = 0;
  std::size_t parked_at_ = 0;
  std::uint32_t buffer_at_ = 0;  // Read of the receiver's oldest buffer.
  std::uint16_t carry_bytes_ = 0;
  std::uint16_t carry_at_ = 0;
};

}  // namespace server
