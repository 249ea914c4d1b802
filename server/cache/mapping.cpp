#include "server/cache/mapping.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>

namespace cache {
namespace {

#if defined(MADV_POPULATE_WRITE)
constexpr int kPopulateWrite = MADV_POPULATE_WRITE;
#else
constexpr int kPopulateWrite = 23;
#endif

bool AreHugePagesForbidden() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string words;
  return !std::getline(file, words) || words.find("[never]") != std::string::npos;
}

}  // namespace

std::unique_ptr<Mapping> Mapping::Reserve(std::size_t bytes, const char* what, std::string* error) {
  const std::size_t mapped_bytes = bytes + kHugeBytes;  // More, to align.
  void* mapped = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    *error = "cannot reserve " + std::to_string(bytes >> 20U) + " MB of address space for " + what +
             ": " + std::strerror(errno) + "; lower the memory limit (-m)";
    return nullptr;
  }
  return std::unique_ptr<Mapping>(new Mapping(static_cast<char*>(mapped), mapped_bytes, bytes));
}

Mapping::Mapping(char* mapped, std::size_t mapped_bytes, std::size_t bytes)
    : mapped_(mapped), mapped_bytes_(mapped_bytes), start_(mapped), bytes_(bytes) {
  const std::size_t over = reinterpret_cast<std::uintptr_t>(mapped) & (kHugeBytes - 1);
  if (over != 0) start_ += kHugeBytes - over;
}

Mapping::~Mapping() { munmap(mapped_, mapped_bytes_); }

void Mapping::AllowHugePages() { madvise(start_, bytes_, MADV_HUGEPAGE); }

std::string Mapping::InsistOnHugePages(std::size_t populated_bytes) {
  const std::string refused = "large pages (-L) are not to be had: ";
  if (AreHugePagesForbidden()) {
    return refused + "/sys/kernel/mm/transparent_hugepage/enabled must be always or madvise";
  }
  if (madvise(start_, bytes_, MADV_HUGEPAGE) != 0) return refused + std::strerror(errno);
  if (!Populate(0, populated_bytes) && errno != EINVAL) {
    return refused + std::to_string(populated_bytes >> 20U) + " MB cannot be had at once (" +
           std::strerror(errno) + "); lower the memory limit (-m)";
  }
  return "";
}

bool Mapping::Populate(std::size_t offset, std::size_t bytes) {
  return madvise(start_ + offset, bytes, kPopulateWrite) == 0;
}

void Mapping::Return(std::size_t offset, std::size_t bytes) {
  madvise(start_ + offset, bytes, MADV_DONTNEED);
}

}  // namespace cache
