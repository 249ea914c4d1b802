// LineStore: the memory of index lines, a reserved range that is touched only as far as it is used,
// and the list of free overflow lines.
//
// Owner: the Index. Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "server/cache/index_line.h"
#include "server/cache/mapping.h"

namespace cache {

class LineStore {
 public:
  static std::unique_ptr<LineStore> Reserve(std::size_t line_count, std::string* error);
  LineStore(const LineStore&) = delete;
  LineStore& operator=(const LineStore&) = delete;

  [[nodiscard]] IndexLine* At(std::size_t line) const { return lines_ + line; }
  [[nodiscard]] std::size_t line_count() const { return line_count_; }

  void AllowHugePages() { memory_->AllowHugePages(); }
  // Gives memory of lines that nobody looks at back to the system: their headers are 0 again.
  void Return(std::size_t from, std::size_t until);

  // As a heap of lines, numbered from 1. Taken: all slots are empty. 0: there are no more.
  std::uint32_t Take();
  // The line's slots are empty again.
  void Give(std::uint32_t line);
  // Lines that are out.
  [[nodiscard]] std::size_t taken_count() const {
    return taken_count_.load(std::memory_order_relaxed);
  }

 private:
  LineStore(std::unique_ptr<Mapping> memory, std::size_t line_count);

  std::unique_ptr<Mapping> memory_;
  IndexLine* lines_;
  std::size_t line_count_;
  // A Treiber stack linked through the headers; the upper half counts changes.
  alignas(64) std::atomic<std::uint64_t> free_head_{0};
  std::atomic<std::uint32_t> unused_from_{1};
  std::atomic<std::size_t> taken_count_{0};
};

}  // namespace cache
