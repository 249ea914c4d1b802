// The statistics of each size class.
#include "server/stats_answer.h"

namespace server {
namespace {

// Adds lines that begin with the class.
class ClassLines {
 public:
  ClassLines(std::string prefix, StatLines* lines) : prefix_(std::move(prefix)), lines_(lines) {}

  template <typename Value>
  void Add(std::string_view name, const Value& value) {
    lines_->Add(prefix_ + std::string(name), value);
  }
  void AddZeros(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) Add(name, 0);
  }

 private:
  std::string prefix_;
  StatLines* lines_;
};

void AddItems(const cache::ClassStats& now, const stats::ClassSnapshot& sum, ClassLines lines) {
  lines.Add("number", now.item_count);
  lines.AddZeros({"number_hot", "number_warm"});
  lines.Add("number_cold", now.item_count);
  lines.AddZeros({"age_hot", "age_warm"});
  lines.Add("age", now.age_s);
  lines.Add("mem_requested", now.item_bytes);
  lines.Add("evicted", sum.evictions);
  lines.Add("evicted_nonzero", sum.evicted_nonzero);
  lines.Add("evicted_time", now.evicted_idle_s);
  lines.Add("outofmemory", sum.outofmemory);
  lines.AddZeros({"tailrepairs"});
  lines.Add("reclaimed", sum.reclaimed);
  lines.Add("expired_unfetched", sum.expired_unfetched);
  lines.Add("evicted_unfetched", sum.evicted_unfetched);
  lines.Add("evicted_active", sum.evicted_active);
  lines.Add("crawler_reclaimed", sum.crawler_reclaimed);
  lines.Add("crawler_items_checked", sum.crawler_items_checked);
  lines.AddZeros({"lrutail_reflocked", "moves_to_cold", "moves_to_warm", "moves_within_lru",
                  "direct_reclaims", "hits_to_hot", "hits_to_warm"});
  lines.Add("hits_to_cold", sum.get_hits);
  lines.AddZeros({"hits_to_temp"});
}

void AddSlots(const cache::ClassStats& now, const stats::ClassSnapshot& sum, ClassLines lines) {
  lines.Add("chunk_size", now.slot_bytes);
  lines.Add("chunks_per_page", now.slots_per_page);
  lines.Add("total_pages", now.page_count);
  lines.Add("total_chunks", std::uint64_t{now.page_count} * now.slots_per_page);
  lines.Add("used_chunks", now.used_count);
  lines.Add("free_chunks", now.free_count);
  lines.AddZeros({"free_chunks_end"});
  lines.Add("get_hits", sum.get_hits);
  lines.Add("cmd_set", sum.cmd_set);
  lines.Add("delete_hits", sum.delete_hits);
  lines.Add("incr_hits", sum.incr_hits);
  lines.Add("decr_hits", sum.decr_hits);
  lines.Add("cas_hits", sum.cas_hits);
  lines.Add("cas_badval", sum.cas_badval);
  lines.Add("touch_hits", sum.touch_hits);
}

}  // namespace

StatsAnswer ItemsGroup(const cache::SharedCache& cache, const stats::Snapshot& sum) {
  StatLines lines;
  const std::vector<cache::ClassStats> classes = cache.ReadClasses();
  for (std::size_t id = 1; id < classes.size(); ++id) {
    if (classes[id].item_count <= 0 && sum.classes[id].evictions == 0) continue;
    AddItems(classes[id], sum.classes[id], {fmt::format("items:{}:", id), &lines});
  }
  return lines.Finish();
}

StatsAnswer SlabsGroup(const cache::SharedCache& cache, const stats::Snapshot& sum) {
  StatLines lines;
  std::size_t active_count = 0;
  std::size_t page_count = 0;
  const std::vector<cache::ClassStats> classes = cache.ReadClasses();
  for (std::size_t id = 1; id < classes.size(); ++id) {
    if (classes[id].page_count == 0) continue;
    ++active_count;
    page_count += classes[id].page_count;
    AddSlots(classes[id], sum.classes[id], {fmt::format("{}:", id), &lines});
  }
  lines.Add("active_slabs", active_count);
  lines.Add("total_malloced", page_count * cache.page_bytes());
  return lines.Finish();
}

}  // namespace server
