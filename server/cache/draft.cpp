// Drafts: items being filled, and the memory they take.
#include <algorithm>
#include <cstring>
#include <utility>

#include "coro/ensure.h"
#include "server/cache/cache_impl.h"
#include "server/cache/item_access.h"

namespace cache {

Draft::Draft(Draft&& other) noexcept
    : cache_(other.cache_),
      item_(std::exchange(other.item_, nullptr)),
      piece_(other.piece_),
      missing_bytes_(other.missing_bytes_),
      hash_(other.hash_) {}

Draft& Draft::operator=(Draft&& other) noexcept {
  if (this == &other) return *this;
  if (is_open()) cache_->impl_->Abandon(this);
  cache_ = other.cache_;
  item_ = std::exchange(other.item_, nullptr);
  piece_ = other.piece_;
  missing_bytes_ = other.missing_bytes_;
  hash_ = other.hash_;
  return *this;
}

Draft::~Draft() {
  if (is_open()) cache_->impl_->Abandon(this);
}

std::span<char> Draft::Room() { return cache_->impl_->RoomIn(this); }

void Draft::Advance(std::size_t bytes) {
  ENSURE(bytes <= missing_bytes_);
  missing_bytes_ -= bytes;
  if (piece_ != nullptr) piece_->bytes += static_cast<std::uint32_t>(bytes);
}

bool Draft::Append(std::string_view bytes) {
  ENSURE(bytes.size() <= missing_bytes_);
  while (!bytes.empty()) {
    const std::span<char> room = Room();
    if (room.empty()) return false;
    const std::size_t taken = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), taken);
    bytes.remove_prefix(taken);
    Advance(taken);
  }
  return true;
}

void Draft::MarkKeyBinary() { ItemAccess::AddState(item_, Item::kKeyBinary); }

std::uint8_t Draft::class_id() const { return cache_->ClassOf(item_); }

ItemPlan Cache::Impl::PlanFor(std::string_view key, std::uint32_t client_flags, Expiry expiry,
                              std::size_t value_bytes) const {
  ItemPlan plan{.key = key,
                .client_flags = client_flags,
                .expiry = expiry,
                .value_bytes = static_cast<std::uint32_t>(value_bytes)};
  plan.is_chained = plan.TotalBytes() > shared->sizes.SlotBytes(shared->sizes.largest());
  return plan;
}

Room Cache::Impl::Begin(const ItemPlan& plan, std::uint64_t hash, Draft* draft) {
  ENSURE(is_online && !draft->is_open());
  if (plan.TotalBytes() > shared->options.item_bytes_max) return Room::kTooLarge;
  const std::uint8_t class_id = shared->sizes.ClassFor(plan.SlotBytes());
  if (class_id == 0) return Room::kTooLarge;
  void* slot = Allocate(class_id);
  if (slot == nullptr) return Room::kNoMemory;
  draft->cache_ = cache;
  draft->item_ = ItemAccess::Make(slot, plan, now.steady_s);
  draft->piece_ = nullptr;
  draft->missing_bytes_ = plan.value_bytes;
  draft->hash_ = hash;
  return Room::kOk;
}

Room Cache::Impl::BeginWhole(const ItemPlan& plan, std::uint64_t hash, Draft* draft) {
  if (draft->is_open() && draft->item_->value_bytes() == plan.value_bytes &&
      draft->item_->client_flags() == plan.client_flags) {
    ItemAccess::SetExpiry(draft->item_, plan.expiry);
    draft->missing_bytes_ = plan.value_bytes;
    draft->piece_ = nullptr;
    return Room::kOk;
  }
  if (draft->is_open()) Abandon(draft);
  const Room room = Begin(plan, hash, draft);
  if (room != Room::kOk || !plan.is_chained || ReserveChain(draft)) return room;
  Abandon(draft);
  return Room::kNoMemory;
}

// Also off-line: a connection may end while its worker stops.
void Cache::Impl::Abandon(Draft* draft) {
  const bool was_online = is_online;
  if (!was_online) GoOnline(now);
  heap->Free(std::exchange(draft->item_, nullptr));
  if (!was_online) GoOffline();
}

std::size_t Cache::Impl::PieceBytes(const ChainPiece* piece) const {
  const std::uint8_t class_id = shared->pages->Of(piece).class_id.load(std::memory_order_relaxed);
  return shared->sizes.SlotBytes(class_id) - sizeof(ChainPiece);
}

std::span<char> Cache::Impl::RoomIn(Draft* draft) {
  const std::size_t missing_bytes = draft->missing_bytes_;
  Item* item = draft->item_;
  if (missing_bytes == 0) return {};
  if (!item->Has(Item::kChained)) {
    return {ItemAccess::Value(item) + (item->value_bytes() - missing_bytes), missing_bytes};
  }
  ChainPiece* piece = draft->piece_;
  if (piece == nullptr || piece->bytes == PieceBytes(piece)) {
    if (!NextPiece(draft)) return {};
    piece = draft->piece_;
  }
  return {piece->data() + piece->bytes, std::min(PieceBytes(piece) - piece->bytes, missing_bytes)};
}

// The next one of a reserved chain, or a new one.
bool Cache::Impl::NextPiece(Draft* draft) {
  ChainPiece* next = draft->piece_ == nullptr ? FirstPiece(draft->item_) : draft->piece_->next;
  if (next == nullptr) next = AddPiece(draft->item_, draft->piece_, draft->missing_bytes_);
  if (next == nullptr) return false;
  next->bytes = 0;
  draft->piece_ = next;
  return true;
}

ChainPiece* Cache::Impl::AddPiece(Item* head, ChainPiece* last, std::size_t value_bytes_left) {
  const std::size_t slot_bytes_max = shared->sizes.SlotBytes(shared->sizes.largest());
  const std::size_t wanted = std::min(value_bytes_left + sizeof(ChainPiece), slot_bytes_max);
  void* slot = Allocate(shared->sizes.ClassFor(wanted));
  if (slot == nullptr) return nullptr;
  ChainPiece* piece = ItemAccess::MakePiece(slot, head);
  if (last == nullptr) {
    ItemAccess::SetFirstPiece(head, piece);
  } else {
    last->next = piece;
  }
  return piece;
}

bool Cache::Impl::ReserveChain(Draft* draft) {
  ChainPiece* last = nullptr;
  for (std::size_t left = draft->item_->value_bytes(); left > 0;) {
    last = AddPiece(draft->item_, last, left);
    if (last == nullptr) return false;
    left -= std::min(left, PieceBytes(last));
  }
  return true;
}

}  // namespace cache
