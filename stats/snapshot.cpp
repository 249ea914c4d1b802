#include "stats/snapshot.h"

#include <cstddef>

namespace stats {

void Snapshot::Add(const Block& block) {
#define STATS_COUNTER(name) name += block.name.Get();
#define STATS_GAUGE(name) name += block.name.Get();
#include "stats/counters.def"
  for (std::size_t index = 0; index < kClassCountMax; ++index) {
    const ClassBlock& from = block.classes[index];
    ClassSnapshot& to = classes[index];
    std::uint64_t value = 0;
#define STATS_CLASS_COUNTER(name) \
  value = from.name.Get();        \
  to.name += value;               \
  name += value;
#include "stats/counters.def"
  }
}

Snapshot Snapshot::Since(const Snapshot& baseline) const {
  Snapshot since = *this;
#define STATS_COUNTER(name) since.name -= baseline.name;
#define STATS_CLASS_COUNTER(name) since.name -= baseline.name;
#include "stats/counters.def"
  for (std::size_t index = 0; index < kClassCountMax; ++index) {
    ClassSnapshot& to = since.classes[index];
    const ClassSnapshot& from = baseline.classes[index];
#define STATS_CLASS_COUNTER(name) to.name -= from.name;
#include "stats/counters.def"
  }
  return since;
}

}  // namespace stats
