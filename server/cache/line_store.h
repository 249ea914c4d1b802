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

namespace cache {

class LineStore {
 public:
  static std::unique_ptr<LineStore> Reserve(std::size_t line_count, std::string* error);
  ~LineStore();
  LineStore(const LineStore&) = delete;
  LineStore& operator=(const LineStore&) = delete;

  [[nodiscard]] IndexLine* At(std::size_t line) const { return lines_ + line; }
  [[nodiscard]] std::size_t line_count() const { return line_count_; }

  // As a heap of lines, numbered from 1. Taken: all slots are empty. 0: there are no more.
  std::uint32_t Take();
  // The line's slots are empty again.
  void Give(std::uint32_t line);
  // Lines that are out.
  [[nodiscard]] std::size_t taken_count() const {
    return taken_count_.load(std::memory_order_relaxed);
  }

 private:
  LineStore(IndexLine* lines, std::size_t line_count) : lines_(lines), line_count_(line_count) {}

  IndexLine* lines_;
  std::size_t line_count_;
  // A Treiber stack linked through the headers; the upper half counts changes.
  alignas(64) std::atomic<std::uint64_t> free_head_{0};
  std::atomic<std::uint32_t> unused_from_{1};
  std::atomic<std::size_t> taken_count_{0};
};

}  // namespace cache
