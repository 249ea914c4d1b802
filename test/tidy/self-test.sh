#!/bin/sh
# self-test.sh: shows that test/tidy.sh finds what it should, each rule on examples of its own, and
# that no rule objects to the good example.
#
# An example is a tree of one file. Run it as test/tidy.sh --self-test.
set -u
tidy=$(cd "$(dirname "$0")/.." && pwd)/tidy.sh
format=$(cd "$(dirname "$0")/../.." && pwd)/.clang-format
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
examples=0 wrong=0

# look PATH RULE...: what the rules say of a tree that has only standard input, as PATH.
look() {
  rm -rf "$room/tree"
  mkdir -p "$room/tree/$(dirname "$1")"
  cp "$format" "$room/tree/"
  cat >"$room/tree/$1"
  shift
  said=$(GIT_DIR=none "$tidy" --in "$room/tree" "$@" 2>&1)
  examples=$((examples + 1))
}

# bad RULE PATH WORDS: RULE finds something in standard input as PATH, and says so in these WORDS.
bad() {
  look "$2" "$1"
  case $said in *"$3"*) return ;; esac
  wrong=$((wrong + 1))
  echo "$1, on an example for '$3' in $2, says: ${said:-nothing}"
}

# bad_include PATH INCLUDED
bad_include() {
  bad includes "$1" "$1:1: ${1%/*} may not include $(echo "$2" | tr -d '<>"')" <<END
#include $2
END
}

# bad_await WORDS STATEMENT
bad_await() {
  bad awaits server/example.cpp "server/example.cpp:2: $1" <<END
coro::Task<> Run(Socket* socket) {
  $2
}
END
}

# bad_line RULE WORDS LINE: LINE goes through printf as its format.
bad_line() {
  # shellcheck disable=SC2059 # As said.
  printf "$3" >"$room/line"
  bad "$1" .ci/run "$2" <"$room/line"
}

for path in notes.txt src/main.cpp; do
  bad top_level "$path" "${path%%/*}:1: not one of the places" </dev/null
done
bad names 'docs/a page.md' 'docs/a page.md:1: file names are' </dev/null

bad_include coro/task.h '"uring/ring.h"'
bad_include coro/task.h '"stats/block.h"'
bad_include coro/task.cpp '<sys/mman.h>'
bad_include coro/task.cpp '<fmt/core.h>'
bad_include uring/ring.h '"server/worker.h"'
bad_include uring/ring.h '"stats/block.h"'
bad_include uring/ring.h '<spdlog/spdlog.h>'
bad_include uring/ring.h '<xxhash.h>'
bad_include stats/block.h '"coro/ensure.h"'
bad_include stats/block.h '<unistd.h>'
bad_include server/protocol/parser.h '"server/cache/item.h"'
bad_include server/protocol/parser.cpp '"server/limits.h"'
bad_include server/protocol/parser.cpp '"coro/task.h"'
bad_include server/protocol/parser.cpp '<sys/socket.h>'
bad_include server/cache/index.cpp '"server/protocol/parser.h"'
bad_include server/cache/index.cpp '"uring/ring.h"'
bad_include server/cache/index.cpp '<coroutine>'
bad_include server/cache/index.cpp '<netinet/in.h>'
bad_include server/worker.cpp '"test/support/client.h"'
bad_include server/worker.cpp '"bench/load.h"'
bad_include server/worker.cpp '"worker.h"'

bad headers uring/ring.h 'ring.h:1: a header opens with' <<'END'

// The ring of a thread. Threads: one.
#pragma once
END
bad headers uring/ring.h 'ring.h:1: a header opens with' <<'END'
#pragma once
END
bad headers uring/ring.h 'ring.h:1: no Threads:' <<'END'
// Ring: the ring of a thread.
#pragma once
END
bad headers uring/ring.h 'ring.h:2: #pragma once' <<'END'
// Ring: the ring of a thread. Threads: one.
#ifndef URING_RING_H
END

bad_await 'co_await in the parentheses of if' 'if (co_await socket->Send() < 0) co_return;'
bad_await 'co_await in the parentheses of if' 'if constexpr (co_await socket->Send()) co_return;'
bad_await 'co_await in the parentheses of while' 'while (co_await socket->Send() > 0) continue;'
bad_await 'co_await in the parentheses of while' 'do Go(); while (co_await socket->Send() > 0);'
bad_await 'co_await in the parentheses of for' 'for (int part : co_await Parts()) Use(part);'
bad_await 'co_await in the parentheses of for' 'for (; co_await socket->Send() > 0;) continue;'
bad_await 'co_await in the parentheses of switch' 'switch (co_await Send()) default: break;'
bad_await 'co_await inside braces' 'Use({co_await socket->Send(), 1});'
bad_await 'co_await inside braces' 'std::vector<int> sent{co_await socket->Send()};'
bad_await 'co_await inside an expression' 'Use(co_await socket->Send());'
bad_await 'co_await inside an expression' 'const bool is_bad = !co_await socket->Send();'
bad_await 'more than one co_await' 'a = co_await socket->Send(), b = co_await socket->Send();'
bad_await 'co_await inside ?:' 'const int sent = is_open ? co_await socket->Send() : 0;'
bad_await 'co_await inside ?:' 'const int sent = co_await socket->Send() ? 1 : 0;'
bad_await 'a braced argument' 'co_await socket->Send({data, bytes});'
bad_await 'an aggregate' 'co_await socket->Send(Options{.flags = 1});'
bad_await 'a capturing lambda in' 'co_await socket->Send([this] { return data_; });'
bad_await 'a capturing lambda may not' 'auto send = [=]() -> coro::Task<> { co_return; };'

bad format server/example.cpp 'server/example.cpp:1: not as clang-format-19' <<'END'
int  x = 1;
END
bad_line width '.ci/run:1: 102 columns' '# %0100d\n'
bad_line blanks '.ci/run:1: a tab' '\techo\n'
bad_line blanks '.ci/run:1: a blank at the end' 'echo \n'
bad_line blanks '.ci/run:1: a blank at the end' 'echo\r\n'
bad_line last_line '.ci/run:0: no newline' 'echo'

look server/example.h <<'END'
// Example: what no rule objects to, though a comment says if (co_await this).
//
// Owner: nobody. Threads: one.
#pragma once

#include <spdlog/spdlog.h>

#include <cstdint>

#include "server/cache/cache.h"
#include "uring/socket.h"

namespace server {

class Example final : public Base<int> {
 public:
  Example() : values_{1, 2} {}

  coro::Task<std::int32_t> Serve(uring::Socket* socket) override {
    const std::string_view text = "if (co_await in_a_string)";
    const std::int32_t received_bytes = co_await socket->Recv(room_);
    parser_.Feed({room_.data(), static_cast<std::size_t>(received_bytes)});
    if (received_bytes <= 0) co_return co_await Close(socket);
    switch (received_bytes) {
      case 1: {
        co_await socket->Send(text);
        break;
      }
      default:
        co_await socket->Send(room_);
    }
    spawner_.Spawn([](uring::Socket* peer) -> coro::Task<> { co_await peer->Close(); }(socket));
    const auto count = [this] { return values_[0] > 0 ? values_[0] : 1'000; };
    co_return count();
  }

 private:
  int values_[2];
};

}  // namespace server
END
if [ -n "$said" ]; then
  wrong=$((wrong + 1))
  echo "the good example is refused: $said"
fi

echo "$examples examples, $wrong judged wrongly"
[ "$wrong" = 0 ]
