// Spawner: runs tasks as roots and counts those still alive.
//
//   spawner.Spawn(Serve(worker, socket));   // runs until its first suspension, then returns
//   co_await spawner.Empty();               // goes on when no root is left
//
// Owner: whoever declares it; it must outlive its roots. Threads: one.
#pragma once

#include <cstddef>
#include <utility>

#include "coro/ensure.h"
#include "coro/event.h"
#include "coro/resume.h"
#include "coro/task.h"

namespace coro {

class Spawner final : public RootOwner {
 public:
  Spawner() { empty_.Set(); }
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;
  ~Spawner() { ENSURE(live_count_ == 0); }

  void Spawn(Task<> task) {
    ++live_count_;
    empty_.Reset();
    Resume(std::move(task).Detach(this));
  }

  [[nodiscard]] std::size_t live_count() const { return live_count_; }
  [[nodiscard]] Event::Waiter Empty() { return empty_.Wait(); }

  // A root has ended and its frame is gone.
  void RootEnded() noexcept override {
    if (--live_count_ == 0) empty_.Set();
  }

 private:
  Event empty_;
  std::size_t live_count_ = 0;
};

}  // namespace coro
