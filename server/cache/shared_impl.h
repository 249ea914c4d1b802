// SharedCache::Impl: what is behind a SharedCache.
//
// Owner: the SharedCache. Threads: as each part says.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "server/cache/cache.h"
#include "server/cache/epochs.h"
#include "server/cache/flush_state.h"
#include "server/cache/ghost_table.h"
#include "server/cache/heap.h"
#include "server/cache/index.h"
#include "server/cache/page_space.h"
#include "server/cache/size_classes.h"

namespace cache {

// A heap, and what of the index belongs to the same thread.
struct ThreadState {
  ThreadState(PageSpace* space, const SizeClasses* sizes, std::vector<Heap*> const* heaps,
              std::uint32_t thread)
      : heap(space, sizes, heaps, thread) {}

  Heap heap;
  Index::Local index_local;
  std::uint64_t cas_counter = 0;
  std::atomic<bool> has_cache{false};  // Some Cache uses it.

  // What of a thread's classes others may read. Writer: the Cache's thread. A thread may take more
  // items out of a class than it has put in; the sum over the threads is right.
  struct ClassFigures {
    Owned<std::int64_t> items;
    Owned<std::int64_t> bytes;
    Owned<std::uint32_t> age_s;  // See ClassStats.
    Owned<std::uint32_t> evicted_idle_s;
    Owned<std::uint64_t> moved_pages;
  };
  std::array<ClassFigures, SizeClasses::kCountMax + 1> classes;
  // Pages a second that the thread fills, over the last few seconds, and how many it has.
  Owned<float> page_rate;
  Owned<std::uint32_t> page_count;
};

struct SharedCache::Impl {
  Impl(const Options& given, SizeClasses classes, std::unique_ptr<PageSpace> page_space,
       std::unique_ptr<Index> key_index, std::unique_ptr<GhostTable> ghost_table);

  const Options options;
  const SizeClasses sizes;
  const std::unique_ptr<PageSpace> pages;
  const std::unique_ptr<Index> index;
  const std::unique_ptr<GhostTable> ghosts;
  Epochs epochs;
  FlushState flush;
  std::vector<std::unique_ptr<ThreadState>> threads;
  std::vector<Heap*> heaps;

  // Threads that wait for slots, maybe for those that others have freed and keep in an outbox.
  // Writers: they. Readers: all, once a turn.
  alignas(64) std::atomic<std::uint32_t> slot_demand{0};
  // Threads that have looked for a page everywhere and wait until one is given up. Writers: they.
  // Readers: all, once a turn.
  std::atomic<std::uint32_t> page_demand{0};

  // The page mover. Writers: any. Readers: all, once a turn.
  std::atomic<Automove> automove{Automove::kOn};
  // A page asked for by Reassign: from << 8 | to, 0 for none. Whoever has one takes it on.
  std::atomic<std::uint32_t> reassign{0};
  std::atomic<std::uint32_t> moves_running{0};

  // A generation number may be used again only when no item of its last use is left: items of
  // generations before this one are all gone.
  std::mutex flush_mutex;
  std::uint32_t oldest_generation = 0;
};

}  // namespace cache
