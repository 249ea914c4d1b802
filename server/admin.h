// Admin: the administration commands that are answered at once: slabs, lru, lru_crawler,
// cache_memlimit.
//
// Answers are those of memcached 1.6.45. What it tunes of its own mechanisms (the shape of its LRU,
// the pace of its crawler) is judged as it judges it, kept, and shown by `stats settings`; nothing
// here depends on it: eviction has no such parts and expired items are swept out all the time.
//
// Threads: a worker's; the cache's shared verbs may be called by any.
#pragma once

#include <string_view>

#include "server/cache/cache.h"
#include "server/protocol/tokens.h"
#include "server/settings.h"

namespace server {

// The answer to a line whose first word is one of the above; with its CRLF.
std::string_view AnswerAdmin(const protocol::Tokens& tokens, cache::SharedCache* cache,
                             Settings* settings);

}  // namespace server
