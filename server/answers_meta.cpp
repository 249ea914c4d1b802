// The answers to meta commands.
#include <fmt/format.h>

#include <algorithm>

#include "server/answers.h"
#include "server/protocol/base64.h"
#include "server/protocol/meta.h"
#include "server/protocol/number.h"
#include "server/protocol/words.h"

namespace server {
namespace {

using protocol::Command;
namespace words = protocol::words;

// The line of an answer, written where the reply is.
class Line {
 public:
  // No line is longer: a status, a key as base64, an opaque, a number for each other flag.
  static constexpr std::size_t kBytesMax = 1024;
  static_assert(kBytesMax > 16 + protocol::Base64Bytes(protocol::kKeyBytesMax) +
                                protocol::kOpaqueBytesMax +
                                protocol::kMetaWordsMax * (2 + protocol::kDigitsMax));

  explicit Line(Reply* reply) : reply_(reply), to_(reply->Reserve(kBytesMax)) {}

  void Text(std::string_view text) { to_ = std::ranges::copy(text, to_).out; }
  void Number(std::uint64_t number) { to_ = protocol::WriteNumber(to_, number); }
  void Flag(char letter) {
    *to_++ = ' ';
    *to_++ = letter;
  }
  void Flag(char letter, std::uint64_t number) {
    Flag(letter);
    Number(number);
  }
  void Key(std::string_view key, bool is_binary) {
    if (is_binary) {
      to_ = protocol::EncodeBase64(to_, key);
    } else {
      Text(key);
    }
  }
  void Expiry(cache::Expiry expiry, cache::Now now) {
    if (expiry.is_never()) return Text(" t-1");
    Flag('t', static_cast<std::uint64_t>(std::max<std::int64_t>(expiry.RemainingSeconds(now), 0)));
  }
  void End() {
    Text(words::kCrlf);
    reply_->Commit(to_);
  }

 private:
  Reply* reply_;
  char* to_;
};

// Calls visit(flag) for each flag of a meta command, in order.
template <typename Visit>
void ForEachFlag(const Command& command, Visit visit) {
  std::string_view text = command.meta.text();
  for (;;) {
    const std::string_view flag = protocol::TakeWord(&text);
    if (flag.empty()) return;
    visit(flag);
  }
}

// The flags that every answer has: O and k.
void CommonFlag(std::string_view flag, std::string_view key, bool key_is_binary, Line* line) {
  if (flag.front() == 'O') {
    line->Text(" ");
    line->Text(flag);
  } else if (flag.front() == 'k') {
    line->Flag('k');
    line->Key(key, key_is_binary);
    if (key_is_binary) line->Text(" b");
  }
}

void Status(std::string_view status, const Command& command, Line* line) {
  line->Text(status);
  ForEachFlag(command, [&](std::string_view flag) {
    CommonFlag(flag, command.key, command.key_is_binary, line);
  });
}

// Two letters; empty for what is an error.
std::string_view StatusOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kStored:
    case Outcome::kDeleted:
      return "HD";
    case Outcome::kNotStored:
      return "NS";
    case Outcome::kExists:
      return "EX";
    case Outcome::kNotFound:
      return "NF";
    default:
      return {};
  }
}

void FoundFlag(std::string_view flag, const MetaFound& found, cache::Now now, bool* has_new_expiry,
               Line* line) {
  const cache::Item* item = found.item;
  switch (flag.front()) {
    case 'T':
      *has_new_expiry = true;
      return;
    case 'N':
      *has_new_expiry &= !found.is_created;
      return;
    case 's':
      return line->Flag('s', item->value_bytes());
    case 't':
      return line->Expiry(*has_new_expiry ? found.expiry : found.old_expiry, now);
    case 'c':
      return line->Flag('c', item->cas());
    case 'f':
      return line->Flag('f', item->client_flags());
    case 'l':
      return line->Flag('l', found.idle_s);
    case 'h':
      return line->Flag('h', found.was_fetched ? 1 : 0);
    default:
      CommonFlag(flag, item->key(), item->Has(cache::Item::kKeyBinary), line);
  }
}

}  // namespace

void Answers::MetaHit(const Command& command, const MetaFound& found) {
  Line line(reply_);
  if (found.shows_value) {
    line.Text("VA ");
    line.Number(found.item->value_bytes());
  } else {
    line.Text("HD");
  }
  bool has_new_expiry = false;
  ForEachFlag(command, [&](std::string_view flag) {
    FoundFlag(flag, found, cache_->now(), &has_new_expiry, &line);
  });
  if (found.token_was_sent) line.Flag('Z');
  if (found.is_stale) line.Flag('X');
  if (found.has_won) line.Flag('W');
  line.End();
  if (!found.shows_value) return;
  reply_->AppendValue(found.item);
  reply_->Append(words::kCrlf);
}

void Answers::MetaMiss(const Command& command) {
  if (command.is_quiet) return;
  Line line(reply_);
  Status("EN", command, &line);
  line.End();
}

void Answers::MetaTell(const Command& command, Outcome outcome, const Told& told) {
  const std::string_view status = StatusOf(outcome);
  if (status.empty()) return reply_->Append(WordsOf(outcome));
  const bool is_expected = status == "HD";
  if (is_expected && command.is_quiet) return;
  Line line(reply_);
  line.Text(status);
  const bool stores = command.has_value;
  ForEachFlag(command, [&](std::string_view flag) {
    if (flag.front() == 'c' && stores) {
      line.Flag('c', told.cas);
    } else if (flag.front() == 's' && stores) {
      line.Flag('s', told.value_bytes);
    } else {
      CommonFlag(flag, command.key, command.key_is_binary, &line);
    }
  });
  line.End();
}

void Answers::MetaNumber(const Command& command, const cache::Delta& delta) {
  if (command.is_quiet) return;
  const bool shows_value = command.meta.Has('v');
  char digits[protocol::kDigitsMax];
  const std::string_view text(digits, protocol::WriteNumber(digits, delta.value));
  Line line(reply_);
  line.Text(shows_value ? "VA " : "HD");
  if (shows_value) line.Number(text.size());
  // What is created has its time from N, or none.
  cache::Expiry shown = delta.old_expiry;
  ForEachFlag(command, [&](std::string_view flag) {
    if (flag.front() == 'T' || (flag.front() == 'N' && delta.created)) shown = delta.expiry;
    if (flag.front() == 'c') return line.Flag('c', delta.cas);
    if (flag.front() == 't') return line.Expiry(shown, cache_->now());
    CommonFlag(flag, command.key, command.key_is_binary, &line);
  });
  line.End();
  if (!shows_value) return;
  reply_->Append(text);
  reply_->Append(words::kCrlf);
}

// For people: not on a fast path.
void Answers::MetaDebug(const cache::Item* item) {
  const cache::Now now = cache_->now();
  Line line(reply_);
  line.Text("ME ");
  line.Key(item->key(), item->Has(cache::Item::kKeyBinary));
  char text[256];
  const auto written =
      fmt::format_to_n(text, sizeof text, " exp={} la={} cas={} fetch={} cls={} size={}",
                       item->expiry().is_never() ? -1 : item->expiry().RemainingSeconds(now),
                       now.steady_s - item->last_access_s(), item->cas(),
                       item->Has(cache::Item::kFetched) ? "yes" : "no", cache_->ClassOf(item),
                       cache_->TotalBytes(item));
  line.Text({text, written.size});
  line.End();
}

}  // namespace server
