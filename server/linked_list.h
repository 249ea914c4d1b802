// LinkedList: a list whose links lie in its elements, so that joining and leaving cost no memory.
//
// Owner: whoever declares it; elements leave before they die. Threads: one.
#pragma once

#include <cstddef>

#include "coro/ensure.h"

namespace server {

template <typename Element>
struct ListLinks {
  Element* previous = nullptr;
  Element* next = nullptr;
};

template <typename Element, ListLinks<Element> Element::* kLinks>
class LinkedList {
 public:
  LinkedList() = default;
  LinkedList(const LinkedList&) = delete;
  LinkedList& operator=(const LinkedList&) = delete;
  ~LinkedList() { ENSURE(count_ == 0); }

  void Add(Element* element) {
    (element->*kLinks) = {.previous = nullptr, .next = first_};
    if (first_ != nullptr) (first_->*kLinks).previous = element;
    first_ = element;
    ++count_;
  }

  void Remove(Element* element) {
    const ListLinks<Element> links = element->*kLinks;
    if (links.previous != nullptr) {
      (links.previous->*kLinks).next = links.next;
    } else {
      first_ = links.next;
    }
    if (links.next != nullptr) (links.next->*kLinks).previous = links.previous;
    (element->*kLinks) = {};
    --count_;
  }

  // Calls visit(Element*) for each; it may remove the element it is called with.
  template <typename Visit>
  void ForEach(Visit visit) {
    for (Element* element = first_; element != nullptr;) {
      Element* next = (element->*kLinks).next;
      visit(element);
      element = next;
    }
  }

  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  Element* first_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace server
