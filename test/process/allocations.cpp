#include "test/process/allocations.h"

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PROCESS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PROCESS_SANITIZED 1
#endif
#endif

namespace process {
namespace {

thread_local std::uint64_t allocation_count = 0;

}  // namespace

std::uint64_t AllocationCount() { return allocation_count; }

}  // namespace process

#ifdef PROCESS_SANITIZED

// The sanitizer owns malloc and tells who asks it.
#include <sanitizer/allocator_interface.h>

namespace process {
namespace {

void CountMalloc(const volatile void*, std::size_t) { ++allocation_count; }
void IgnoreFree(const volatile void*) {}

const int hooked = __sanitizer_install_malloc_and_free_hooks(&CountMalloc, &IgnoreFree);

}  // namespace
}  // namespace process

#else

// Ours stand before the C library's, and count on the way there.
extern "C" {

void* __libc_malloc(std::size_t bytes) noexcept;                     // NOLINT
void* __libc_calloc(std::size_t count, std::size_t bytes) noexcept;  // NOLINT
void* __libc_realloc(void* memory, std::size_t bytes) noexcept;      // NOLINT

void* malloc(std::size_t bytes) noexcept {
  ++process::allocation_count;
  return __libc_malloc(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) noexcept {
  ++process::allocation_count;
  return __libc_calloc(count, bytes);
}

void* realloc(void* memory, std::size_t bytes) noexcept {
  ++process::allocation_count;
  return __libc_realloc(memory, bytes);
}

}  // extern "C"

#endif
