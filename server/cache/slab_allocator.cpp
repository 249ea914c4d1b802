#include "server/cache/slab_allocator.h"

#include <algorithm>
#include <utility>

#include "coro/ensure.h"
#include "server/cache/item_access.h"
#include "server/cache/slot_link.h"

namespace cache {

void* SlabAllocator::Take(std::uint8_t class_id) {
  Class& from = classes_[class_id];
  if (from.open.empty()) return nullptr;
  const std::uint32_t number = from.open.back();
  Page& page = space_->At(number);
  void* slot = page.free_list;
  if (slot != nullptr) {
    page.free_list = ReadLink(slot);
    --page.free_count;
  } else {
    slot = space_->Start(number) + page.carved_count * sizes_->SlotBytes(class_id);
    ++page.carved_count;
  }
  --from.available_count;
  ++from.taken_count;
  if (page.available_count() == 0) Close(&from, number);
  return slot;
}

void SlabAllocator::Give(void* slot) {
  const std::uint32_t number = space_->NumberOf(slot);
  Page& page = space_->At(number);
  DEBUG_ENSURE(page.owner.load(std::memory_order_relaxed) == thread_);
  Class& to = classes_[page.class_id.load(std::memory_order_relaxed)];
  ItemAccess::StateOf(slot).store(static_cast<std::uint8_t>(SlotKind::kFree),
                                  std::memory_order_relaxed);
  WriteLink(slot, page.free_list);
  page.free_list = slot;
  ++page.free_count;
  if (page.is_draining) {
    if (page.used_count() == 0) Release(number);
    return;
  }
  ++to.available_count;
  if (!page.is_open) Open(&to, number);
  if (page.used_count() == 0 && to.available_count >= std::size_t{2} * page.slot_count) {
    Release(number);
  }
}

void SlabAllocator::AddPage(std::uint32_t number, std::uint8_t class_id) {
  Page& page = space_->At(number);
  Class& to = classes_[class_id];
  page.owner.store(thread_, std::memory_order_relaxed);
  page.class_id.store(class_id, std::memory_order_relaxed);
  page.slot_count = sizes_->SlotsPerPage(class_id);
  page.carved_count = 0;
  page.free_count = 0;
  page.free_list = nullptr;
  page.swept_generation.store(0, std::memory_order_relaxed);
  page.ForgetDue();
  page.class_position = static_cast<std::uint32_t>(to.pages.size());
  to.pages.push_back(number);
  to.available_count += page.slot_count;
  ++page_count_;
  Open(&to, number);
}

void SlabAllocator::Drain(std::uint32_t number, std::uint8_t next_class) {
  Page& page = space_->At(number);
  ENSURE(!page.is_draining);
  Class& from = classes_[page.class_id.load(std::memory_order_relaxed)];
  from.available_count -= page.available_count();
  if (page.is_open) Close(&from, number);
  page.is_draining = true;
  page.next_class = next_class;
  ++draining_count_;
  if (page.used_count() == 0) Release(number);
}

void* SlabAllocator::NextSlot(std::uint8_t class_id) {
  Class& of = classes_[class_id];
  for (std::size_t tries = 0; tries <= of.pages.size(); ++tries) {
    if (of.pages.empty()) return nullptr;
    if (of.hand_page >= of.pages.size()) of.hand_page = 0;
    const std::uint32_t number = of.pages[of.hand_page];
    const Page& page = space_->At(number);
    if (!page.is_draining && of.hand_slot < page.carved_count) {
      return space_->Start(number) + of.hand_slot++ * sizes_->SlotBytes(class_id);
    }
    of.hand_slot = 0;
    ++of.hand_page;
  }
  return nullptr;
}

void SlabAllocator::Open(Class* of, std::uint32_t page) {
  of->open.push_back(page);
  space_->At(page).is_open = true;
}

// Nearly always the last one: it gave its last slot.
void SlabAllocator::Close(Class* of, std::uint32_t page) {
  const auto found = std::find(of->open.rbegin(), of->open.rend(), page);
  *found = of->open.back();
  of->open.pop_back();
  space_->At(page).is_open = false;
}

void SlabAllocator::Release(std::uint32_t number) {
  Page& page = space_->At(number);
  Class& from = classes_[page.class_id.load(std::memory_order_relaxed)];
  if (page.is_draining) {
    --draining_count_;
  } else {
    from.available_count -= page.slot_count;
  }
  page.is_draining = false;
  if (page.is_open) Close(&from, number);
  const std::uint32_t last = from.pages.back();
  from.pages[page.class_position] = last;
  space_->At(last).class_position = page.class_position;
  from.pages.pop_back();
  --page_count_;
  const std::uint8_t next_class = std::exchange(page.next_class, 0);
  if (next_class != 0) {
    AddPage(number, next_class);
  } else {
    page.class_id.store(0, std::memory_order_relaxed);
    space_->GiveFree(number);
  }
}

std::string SlabAllocator::ValidatePage(std::uint32_t number, std::uint8_t class_id) const {
  const Page& page = space_->At(number);
  const std::string where = "page " + std::to_string(number) + ": ";
  if (page.owner.load(std::memory_order_relaxed) != thread_) return where + "wrong owner";
  if (page.class_id.load(std::memory_order_relaxed) != class_id) return where + "wrong class";
  if (page.carved_count > page.slot_count) return where + "too many slots carved";
  if (page.is_open != (page.available_count() > 0 && !page.is_draining)) {
    return where + "wrongly in or out of the open list";
  }
  std::uint32_t listed_count = 0;
  for (void* slot = page.free_list; slot != nullptr; slot = ReadLink(slot)) {
    if (space_->NumberOf(slot) != number) return where + "a foreign slot in the free list";
    if (ItemAccess::StateOf(slot).load() != 0) return where + "a used slot in the free list";
    if (++listed_count > page.free_count) break;
  }
  return listed_count == page.free_count ? "" : where + "free list and count differ";
}

std::string SlabAllocator::Validate() const {
  std::size_t seen_count = 0;
  for (std::size_t class_index = 1; class_index < classes_.size(); ++class_index) {
    const Class& of = classes_[class_index];
    std::size_t available_count = 0;
    for (std::size_t position = 0; position < of.pages.size(); ++position) {
      const Page& page = space_->At(of.pages[position]);
      if (page.class_position != position) return "a page does not know its place";
      std::string wrong = ValidatePage(of.pages[position], static_cast<std::uint8_t>(class_index));
      if (!wrong.empty()) return wrong;
      if (!page.is_draining) available_count += page.available_count();
      ++seen_count;
    }
    if (available_count != of.available_count) return "available slots and their count differ";
  }
  return seen_count == page_count_ ? "" : "pages and their count differ";
}

}  // namespace cache
