// Cache: a worker's door to the key space that all workers share.
//
// There is one SharedCache a server (the index, the pages, the ghost table) and one Cache a worker
// (its slab allocator, its retired items, its place in reclamation). Nothing else of server/cache
// is used from outside.
//
//   cache.GoOnline(now);                          // the turn's read section begins
//   const HashedKey key = cache.Hash(text);
//   if (Item* item = cache.Find(key)) { cache.MarkAccess(item); ... item->value() ... }
//   Draft draft;
//   if (cache.Begin(key, flags, expiry, bytes, &draft) == Room::kOk) {
//     draft.Append(value);
//     const StoreResult result = cache.Store(&draft, {.mode = StoreMode::kSet});
//   }
//   cache.Quiesce();                              // pointers from Find end here
//   cache.GoOffline();                            // before waiting in the kernel
//
// Pointers from Find also end at Begin, Store, Add and FlushAll, and when a chain's Draft takes
// more memory: those may have to wait for memory that other threads are reading, and for that let
// them pass. What must outlive them is pinned or copied. They take care of what they use
// themselves.
//
// Writes never hold anything across an allocation: a draft is made first, unseen, and then swapped
// in. Counts that have no client (evictions, expiry, items, bytes) go to the worker's stats::Block
// from here; hits and misses are counted by the caller, who knows the verb.
//
// Owner: the worker. Threads: a Cache is used by its worker alone; a SharedCache by all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/cache/chain.h"
#include "server/cache/clock.h"
#include "server/cache/item.h"
#include "stats/block.h"

namespace cache {

struct Options {
  std::size_t memory_bytes = std::size_t{64} << 20;  // -m: for items, in pages.
  std::uint32_t thread_count = 1;
  std::size_t item_bytes_max = std::size_t{1} << 20;  // -I: header, key and value.
  bool evicts = true;                                 // -M turns it off.
  bool has_cas = true;                                // -C turns it off.
  double class_factor = 1.06;                         // -f
  std::size_t slot_bytes_min = 48;                    // -n: the smallest slot, header and all.
  std::size_t slot_bytes_max = 0;                     // The largest slot; 0: as fits the pages.
  bool uses_large_pages = false;                      // -L: insists on them; all memory at once.
  bool limit_may_rise =
      true;  // Address space for a higher limit, which counts where memory is locked.
};

// Of `slabs automove`: never by itself; when a class or thread has clearly more than its part; even
// when it has little more.
enum class Automove : std::uint8_t { kOff, kOn, kEager };

enum class Reassigned : std::uint8_t {
  kOk,        // On its way.
  kBusy,      // Another one still is.
  kBadClass,  // There is no such class.
  kNoSpare,   // The class has fewer than two pages.
  kSame,      // From and to are the same.
};

enum class LimitChange : std::uint8_t { kOk, kTooSmall, kTooLarge };

// One size class, over all threads. Exact while all are quiet; else a little late.
struct ClassStats {
  std::size_t slot_bytes = 0;
  std::uint32_t slots_per_page = 0;
  std::uint32_t page_count = 0;
  std::uint64_t used_count = 0;  // Slots.
  std::uint64_t free_count = 0;
  std::int64_t item_count = 0;
  std::int64_t item_bytes = 0;       // As TotalBytes.
  std::uint32_t age_s = 0;           // Since the last access of the least recent of a few items.
  std::uint32_t evicted_idle_s = 0;  // The same of the item evicted last.
};

// A key with its hash, computed once a command. Does not own the text.
struct HashedKey {
  std::string_view text;
  std::uint64_t hash = 0;
};

enum class Room : std::uint8_t {
  kOk,
  kTooLarge,  // Larger than -I allows: "object too large for cache".
  kNoMemory,  // Nothing may be evicted (-M), or a chain found no room.
};

// Why the last Find of this Cache gave nothing.
enum class Miss : std::uint8_t { kAbsent, kExpired, kFlushed };

enum class StoreMode : std::uint8_t { kSet, kAdd, kReplace, kAppend, kPrepend, kCas };

enum class StoreResult : std::uint8_t {
  kStored,
  kNotStored,  // add met an item; replace, append, prepend met none
  kExists,     // the CAS did not match
  kNotFound,   // cas met no item
  kTooLarge,   // append or prepend would pass -I
  kNoMemory,
};

struct StoreRule {
  StoreMode mode = StoreMode::kSet;
  std::uint64_t compare_cas =
      0;  // Must match the stored item's; 0: not asked (kCas with 0 never matches).
  std::uint64_t explicit_cas = 0;  // The new item's CAS; 0: the next of this thread.
  bool creates = false;            // append and prepend make the item when there is none
  bool stale_if_older = false;     // kCas with an older CAS stores, and marks the item stale
  bool sends_token = false;        // the item begins with kTokenSent
};

// What became of a store, for replies and statistics.
struct Stored {
  StoreResult result = StoreResult::kNotStored;
  std::uint64_t cas = 0;          // Of the item now stored; only for kStored.
  std::uint32_t value_bytes = 0;  // Of the item now stored (append and prepend add up).
  std::uint8_t class_id = 0;      // Of the item met (kCas), else of the item stored.
};

enum class DeltaResult : std::uint8_t { kOk, kNotFound, kNonNumeric, kExists, kNoMemory };

struct DeltaRule {
  std::uint64_t delta = 1;
  bool decrements = false;
  std::uint64_t compare_cas = 0;
  std::uint64_t explicit_cas = 0;
  bool creates = false;  // On a miss, store `initial` with `create_expiry`.
  std::uint64_t initial = 0;
  Expiry create_expiry = Expiry::Never();
  bool sets_expiry = false;  // Also set `expiry` on success.
  Expiry expiry = Expiry::Never();
};

struct Delta {
  DeltaResult result = DeltaResult::kNotFound;
  std::uint64_t value = 0;
  std::uint64_t cas = 0;
  Expiry expiry = Expiry::Never();
  Expiry old_expiry = Expiry::Never();  // Before; of what was created: never.
  bool created = false;
  std::uint8_t class_id = 0;
};

enum class DeleteResult : std::uint8_t { kDeleted, kNotFound, kExists };

struct Deleted {
  DeleteResult result = DeleteResult::kNotFound;
  std::uint8_t class_id = 0;
};

class Cache;

// Draft: an item being filled, which nobody else can see. Destroying it gives its memory back.
//
// A draft may outlive turns (a client sends its value slowly); it may be filled and destroyed
// off-line, but Room and Append of a chain, which take memory, want the Cache on-line. It must be
// gone before its Cache. A chain takes its memory as bytes arrive.
// Owner: whoever fills it. Threads: the Cache's.
class Draft {
 public:
  Draft() = default;
  Draft(Draft&& other) noexcept;
  Draft& operator=(Draft&& other) noexcept;
  ~Draft();

  [[nodiscard]] bool is_open() const { return item_ != nullptr; }
  // Value bytes still to come.
  [[nodiscard]] std::size_t missing_bytes() const { return missing_bytes_; }
  // The next room in one piece, at most missing_bytes() long. Empty: no memory is left for the
  // chain, or nothing is missing.
  [[nodiscard]] std::span<char> Room();
  // The first `bytes` of Room() have been filled.
  void Advance(std::size_t bytes);
  // Copies; returns false when a chain found no memory. Takes at most missing_bytes().
  bool Append(std::string_view bytes);
  // Marks the key as one that came base64-coded.
  void MarkKeyBinary();
  [[nodiscard]] std::string_view key() const { return item_->key(); }
  [[nodiscard]] std::uint8_t class_id() const;

 private:
  friend class Cache;
  Cache* cache_ = nullptr;
  Item* item_ = nullptr;
  ChainPiece* piece_ = nullptr;  // The one being filled; null for a plain item.
  std::size_t missing_bytes_ = 0;
  std::uint64_t hash_ = 0;
};

// What all workers share. Made before them, destroyed after them.
class SharedCache {
 public:
  // Reserves address space and checks the options against each other. On failure returns null and
  // puts one line that says what to change into *error.
  static std::unique_ptr<SharedCache> Create(const Options& options, std::string* error);
  ~SharedCache();

  [[nodiscard]] const Options& options() const;
  // Size classes are numbered from 1 to class_count().
  [[nodiscard]] std::size_t class_count() const;
  [[nodiscard]] std::size_t SlotBytes(std::uint8_t class_id) const;
  // [0] is unused.
  [[nodiscard]] std::vector<ClassStats> ReadClasses() const;
  [[nodiscard]] std::size_t page_bytes() const;
  // The memory limit as it is now, in whole pages.
  [[nodiscard]] std::size_t memory_limit_bytes() const;
  // Index lines in use.
  [[nodiscard]] std::size_t index_bytes() const;
  // Lowers or raises the memory limit. A lower one makes the workers give up pages, turn by turn,
  // whose memory goes back to the system; without eviction only pages that become empty.
  LimitChange SetMemoryLimit(std::size_t bytes);
  void SetAutomove(Automove automove);
  [[nodiscard]] Automove automove() const;
  // Asks for one page of a class to go to another, 0 being the pool; `from` below 0: of the class
  // with the most pages. Some worker does it in its next turns.
  Reassigned Reassign(int from_class, int to_class);
  [[nodiscard]] bool is_moving() const;
  // Checks every structure, with all Caches off-line and no draft open. Returns what is wrong, or
  // nothing; *item_count is how many items there are.
  [[nodiscard]] std::string Validate(std::size_t* item_count) const;

 private:
  friend class Cache;
  struct Impl;
  explicit SharedCache(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class Cache {
 public:
  // `thread_index` is below Options::thread_count and used by one Cache at a time.
  Cache(SharedCache* shared, std::uint32_t thread_index, stats::Block* block);
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  [[nodiscard]] SharedCache& shared() const { return *shared_; }

  // -- Turns. Between GoOnline and GoOffline memory that others retire stays; a worker that waits
  // in the kernel must be off-line, or nobody gets memory back.
  void GoOnline(Now now);
  void Quiesce();
  void GoOffline();
  [[nodiscard]] Now now() const;
  // A slice of background work: expiry, eviction ahead of need, page moves, index growth. To be
  // called once a turn, and once a second when idle. Returns whether more is waiting to be done.
  bool Maintain();

  // -- Keys. A group of keys is answered fastest as: hash all, prefetch all buckets, prefetch all
  // items.
  [[nodiscard]] HashedKey Hash(std::string_view text) const;
  void PrefetchBucket(const HashedKey& key) const;
  void PrefetchItem(const HashedKey& key) const;

  // -- Reading. The item, or null when there is none that lives; an expired or flushed one found on
  // the way is removed. Does not count as an access.
  Item* Find(const HashedKey& key);
  [[nodiscard]] Miss last_miss() const;
  // The item has been read: sets kFetched, the time of last access and the frequency, each only if
  // it changes.
  void MarkAccess(Item* item);
  // Gives the item another expiry. Does not count as an access.
  void Touch(Item* item, Expiry expiry);
  [[nodiscard]] std::uint8_t ClassOf(const Item* item) const;
  // Header, flags, key and value: what `me` calls size.
  [[nodiscard]] std::size_t TotalBytes(const Item* item) const;
  // Calls visit(std::string_view) for each piece of the value, in order; once for a plain item.
  template <typename Visit>
  void ForEachPiece(const Item* item, Visit visit) const {
    if (!item->Has(Item::kChained)) {
      visit(item->value());
      return;
    }
    for (const ChainPiece* piece = FirstPiece(item); piece != nullptr; piece = piece->next) {
      visit(piece->value());
    }
  }
  // Holds the item beyond Quiesce, for a reply that is sent from it. False: it has too many pins
  // already (copy instead). May be called between Find and Quiesce; every pin needs one Unpin, by
  // this thread.
  bool Pin(Item* item);
  void Unpin(Item* item);

  // -- Walking over all items, in slices. *cursor is 0 at first and again at the end. Items that
  // are there throughout are met, at least once; others may be. Stops nobody.
  template <typename Visit>
  void Walk(std::uint64_t* cursor, std::size_t item_count_about, Visit visit) {
    std::vector<Item*> items;
    do {
      *cursor = CollectStep(*cursor, &items);
    } while (*cursor != 0 && items.size() < item_count_about);
    for (Item* item : items) visit(item);
  }

  // -- Writing. Begin makes room and may evict; a set never fails while anything can be evicted.
  Room Begin(const HashedKey& key, std::uint32_t client_flags, Expiry expiry,
             std::size_t value_bytes, Draft* draft);
  // Puts a filled draft in place by `rule`. The draft is closed whatever comes out.
  Stored Store(Draft* draft, const StoreRule& rule);
  Delta Add(const HashedKey& key, const DeltaRule& rule);
  // compare_cas 0: whatever its CAS.
  Deleted Delete(const HashedKey& key, std::uint64_t compare_cas);
  // Everything stored until `delay_s` seconds from now is gone then; 0: what is stored now is gone
  // at once. A later call replaces one that is still pending.
  void FlushAll(std::uint32_t delay_s);

  // -- Marks of the meta protocol.
  // True for the one caller who sets kTokenSent.
  bool WinToken(Item* item);
  // Marks the item stale, gives it a new CAS (explicit_cas, or the next when 0) and lets one reader
  // win again. False when compare_cas is not 0 and not the item's.
  bool MarkStale(Item* item, std::uint64_t compare_cas, std::uint64_t explicit_cas);

 private:
  friend class Draft;
  friend class SharedCache;
  std::uint64_t CollectStep(std::uint64_t cursor, std::vector<Item*>* items) const;
  struct Impl;
  SharedCache* shared_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cache
