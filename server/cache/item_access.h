// ItemAccess: the engine's door to the fields of Item that readers may not write.
//
// What a slot holds shows in the two upper bits of its state byte, for items and pieces alike:
//
//   00 free    10 private: a draft, or an item taken from the index and not yet freed
//   01 linked: in the index             11 a piece of a chain
//
// Threads: Make and the setters of plain fields only before the item is published or by the one
// thread that holds it privately; the rest are relaxed atomics for any thread in a read section.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

#include "coro/ensure.h"
#include "server/cache/chain.h"
#include "server/cache/item.h"
#include "server/cache/slot_link.h"

namespace cache {

enum class SlotKind : std::uint8_t { kFree = 0, kLinked = 64, kPrivate = 128, kPiece = 192 };

// What Make is told.
struct ItemPlan {
  std::string_view key;
  std::uint32_t client_flags = 0;
  Expiry expiry = Expiry::Never();
  std::uint32_t value_bytes = 0;
  bool is_chained = false;

  [[nodiscard]] std::size_t FlagsBytes() const { return client_flags != 0 ? 4 : 0; }
  // Header, flags, key and value.
  [[nodiscard]] std::size_t TotalBytes() const {
    return sizeof(Item) + FlagsBytes() + key.size() + value_bytes;
  }
  // What the item, or the head of its chain, takes of a slot.
  [[nodiscard]] std::size_t SlotBytes() const {
    return is_chained ? FirstPieceOffset(FlagsBytes(), key.size()) + sizeof(ChainPiece*)
                      : TotalBytes();
  }
};

class ItemAccess {
 public:
  static constexpr std::uint8_t kKindMask = 192;
  static constexpr std::uint8_t kFrequencyMax = 3;
  static constexpr std::uint8_t kNewcomer = 4;  // In the access byte, above the frequency.
  static constexpr unsigned kGenerationShift = 3;
  static constexpr std::uint32_t kGenerationCount = 32;

  // A draft with its key and flags, in a slot that the caller owns. It counts as pinned, so that
  // its page is left where it is.
  static Item* Make(void* slot, const ItemPlan& plan, std::uint32_t now_s) {
    Item* item = new (slot) Item;
    auto state = static_cast<std::uint8_t>(SlotKind::kPrivate);
    if (plan.client_flags != 0) state |= Item::kHasFlags;
    if (plan.is_chained) state |= Item::kChained;
    item->expiry_.store(plan.expiry.bits(), std::memory_order_relaxed);
    item->last_access_s_.store(now_s, std::memory_order_relaxed);
    item->value_bytes_ = plan.value_bytes;
    item->key_bytes_ = static_cast<std::uint8_t>(plan.key.size());
    item->pins_.store(1, std::memory_order_relaxed);
    item->state_.store(state, std::memory_order_relaxed);
    if (plan.client_flags != 0) std::memcpy(Bytes(item), &plan.client_flags, 4);
    std::memcpy(Bytes(item) + plan.FlagsBytes(), plan.key.data(), plan.key.size());
    if (plan.is_chained) SetFirstPiece(item, nullptr);
    return item;
  }
  // A linked copy of a linked item that is not chained, in another slot of the same class. Nobody
  // may change its fields meanwhile: see Cache::Impl::MoveItem.
  static Item* Copy(const Item* from, void* slot) {
    Item* item = new (slot) Item;
    item->expiry_.store(from->expiry_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    item->last_access_s_.store(from->last_access_s(), std::memory_order_relaxed);
    item->cas_.store(from->cas(), std::memory_order_relaxed);
    item->value_bytes_ = from->value_bytes_;
    item->key_bytes_ = from->key_bytes_;
    item->access_.store(AccessByte(from), std::memory_order_relaxed);
    item->pins_.store(0, std::memory_order_relaxed);
    const auto marks = static_cast<std::uint8_t>(from->state() & ~kKindMask);
    std::memcpy(Bytes(item), from->Body(), TotalBytes(from) - sizeof(Item));
    item->state_.store(marks | static_cast<std::uint8_t>(SlotKind::kLinked),
                       std::memory_order_release);
    return item;
  }
  static void SetFirstPiece(Item* item, ChainPiece* piece) {
    const std::size_t offset = FirstPieceOffset(item->FlagsBytes(), item->key_bytes_);
    WriteLink(reinterpret_cast<char*>(item) + offset, piece);
  }
  static ChainPiece* MakePiece(void* slot, Item* head) {
    auto* piece = new (slot) ChainPiece;
    piece->head = head;
    piece->state.store(static_cast<std::uint8_t>(SlotKind::kPiece), std::memory_order_release);
    return piece;
  }
  static char* Value(Item* item) { return Bytes(item) + item->FlagsBytes() + item->key_bytes_; }

  // -- The state byte of any slot.
  static std::atomic<std::uint8_t>& StateOf(void* slot) {
    return *reinterpret_cast<std::atomic<std::uint8_t>*>(static_cast<char*>(slot) +
                                                         offsetof(ChainPiece, state));
  }
  // The item that a slot belongs to, if it is in the index.
  static Item* LinkedItemAt(void* slot) {
    const std::uint8_t state = StateOf(slot).load(std::memory_order_acquire);
    const auto kind = static_cast<SlotKind>(state & kKindMask);
    if (kind == SlotKind::kLinked) return static_cast<Item*>(slot);
    if (kind != SlotKind::kPiece) return nullptr;
    Item* head = static_cast<ChainPiece*>(slot)->head;
    return KindOf(head) == SlotKind::kLinked ? head : nullptr;
  }
  static SlotKind KindOf(const Item* item) {
    return static_cast<SlotKind>(item->state_.load(std::memory_order_acquire) & kKindMask);
  }
  static bool IsLinkedState(std::uint8_t state) {
    return static_cast<SlotKind>(state & kKindMask) == SlotKind::kLinked;
  }
  static void AddState(Item* item, std::uint8_t bits) {
    item->state_.fetch_or(bits, std::memory_order_relaxed);
  }
  // Returns the state before.
  static std::uint8_t TakeState(Item* item, std::uint8_t bits) {
    return item->state_.fetch_and(static_cast<std::uint8_t>(~bits), std::memory_order_relaxed);
  }
  static std::uint8_t PutState(Item* item, std::uint8_t bits) {
    return item->state_.fetch_or(bits, std::memory_order_acq_rel);
  }
  // Private to linked; the pin of the draft ends.
  static void MarkLinked(Item* item) {
    item->pins_.store(0, std::memory_order_relaxed);
    FlipKind(item, SlotKind::kPrivate);
  }
  // Linked to private.
  static void MarkUnlinked(Item* item) { FlipKind(item, SlotKind::kLinked); }

  // -- Expiry, CAS, access, pins.
  static void SetExpiry(Item* item, Expiry expiry) {
    item->expiry_.store(expiry.bits(), std::memory_order_relaxed);
  }
  static void SetCas(Item* item, std::uint64_t cas) {
    item->cas_.store(cas, std::memory_order_relaxed);
  }
  static void SetLastAccess(Item* item, std::uint32_t now_s) {
    item->last_access_s_.store(now_s, std::memory_order_relaxed);
  }
  static std::uint8_t Frequency(const Item* item) { return AccessByte(item) & kFrequencyMax; }
  // Lost when another thread changes the byte at the same time: a frequency is a hint.
  static void SetFrequency(Item* item, std::uint8_t frequency) {
    std::uint8_t access = AccessByte(item);
    const auto changed = static_cast<std::uint8_t>((access & ~kFrequencyMax) | frequency);
    item->access_.compare_exchange_strong(access, changed, std::memory_order_relaxed);
  }
  // Once the item is published only by the owner of its page.
  static bool IsNewcomer(const Item* item) { return (AccessByte(item) & kNewcomer) != 0; }
  static void MarkNewcomer(Item* item) {
    item->access_.fetch_or(kNewcomer, std::memory_order_relaxed);
  }
  static void MarkResident(Item* item) {
    item->access_.fetch_and(static_cast<std::uint8_t>(~kNewcomer), std::memory_order_relaxed);
  }
  static std::uint32_t Generation(const Item* item) { return AccessByte(item) >> kGenerationShift; }
  // Before the item is published; `generation` is taken modulo kGenerationCount.
  static void SetGeneration(Item* item, std::uint32_t generation) {
    const std::uint32_t others = AccessByte(item) & ((1U << kGenerationShift) - 1);
    const std::uint32_t access = (generation % kGenerationCount) << kGenerationShift | others;
    item->access_.store(static_cast<std::uint8_t>(access), std::memory_order_relaxed);
  }
  static bool IsPinned(const Item* item) {
    return item->pins_.load(std::memory_order_acquire) != 0;
  }
  // False when the count is at its end.
  static bool AddPin(Item* item) {
    std::uint8_t pins = item->pins_.load(std::memory_order_relaxed);
    do {
      if (pins == UINT8_MAX) return false;
    } while (!item->pins_.compare_exchange_weak(pins, static_cast<std::uint8_t>(pins + 1),
                                                std::memory_order_relaxed));
    return true;
  }
  static void TakePin(Item* item) {
    const std::uint8_t before = item->pins_.fetch_sub(1, std::memory_order_release);
    ENSURE(before != 0);
  }
  static std::size_t TotalBytes(const Item* item) {
    return sizeof(Item) + item->FlagsBytes() + item->key_bytes_ + item->value_bytes_;
  }

 private:
  static char* Bytes(Item* item) { return reinterpret_cast<char*>(item + 1); }
  static std::uint8_t AccessByte(const Item* item) {
    return item->access_.load(std::memory_order_relaxed);
  }
  static void FlipKind(Item* item, SlotKind expected) {
    const std::uint8_t before = item->state_.fetch_xor(kKindMask, std::memory_order_acq_rel);
    ENSURE((before & kKindMask) == static_cast<std::uint8_t>(expected));
  }
};

}  // namespace cache
