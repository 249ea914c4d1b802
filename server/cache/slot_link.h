// ReadLink, WriteLink: a pointer kept in the bytes of a slot that holds no object there.
//
// Threads: whoever holds the slot.
#pragma once

#include <cstdint>
#include <cstring>

namespace cache {

inline void* ReadLink(const void* at) {
  std::uintptr_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return reinterpret_cast<void*>(bits);
}

inline void WriteLink(void* at, const void* pointer) {
  const auto bits = reinterpret_cast<std::uintptr_t>(pointer);
  std::memcpy(at, &bits, sizeof bits);
}

}  // namespace cache
