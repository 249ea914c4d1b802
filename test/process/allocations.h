// AllocationCount: how often the calling thread has asked for memory: malloc, calloc, realloc, and
// with them operator new. What a test does not expect to allocate, it counts before and after.
//
// Threads: any; each sees its own.
#pragma once

#include <cstdint>

namespace process {

std::uint64_t AllocationCount();

}  // namespace process
