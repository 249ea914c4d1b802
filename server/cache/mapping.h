// Mapping: a reserved range of address space. It takes memory only where it is touched, and reads
// as zeroes there at first.
//
// Owner: who reserves it. Threads: any; ranges as their users say.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace cache {

class Mapping {
 public:
  static constexpr std::size_t kHugeBytes = std::size_t{2} << 20;

  // Starts at a multiple of kHugeBytes. On failure returns null and puts a line into *error that
  // names `what` it was for.
  static std::unique_ptr<Mapping> Reserve(std::size_t bytes, const char* what, std::string* error);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] char* start() const { return start_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // Lets the system back the range with huge pages, if it does such things.
  void AllowHugePages();
  // The same, insisting, and takes the memory of the first `populated_bytes` at once. Returns why
  // that cannot be; empty when it is done.
  std::string InsistOnHugePages(std::size_t populated_bytes);
  // Takes the memory of a range now instead of at first touch. What is there stays. Older systems
  // do nothing.
  bool Populate(std::size_t offset, std::size_t bytes);
  // Gives the memory of whole system pages back; they read as zeroes again.
  void Return(std::size_t offset, std::size_t bytes);

 private:
  Mapping(char* mapped, std::size_t mapped_bytes, std::size_t bytes);

  char* mapped_;
  std::size_t mapped_bytes_;
  char* start_;
  std::size_t bytes_;
};

}  // namespace cache
