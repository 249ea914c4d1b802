#!/bin/sh
# tidy.sh: the rules of the tree that no compiler checks.
#
#   test/tidy.sh [RULE...]     prints FILE:LINE: what is wrong, and fails if anything is
#   test/tidy.sh --self-test   shows that every rule finds its bad examples and passes the good one
#   test/tidy.sh --in FOLDER [RULE...]   the same as the first for another folder than this tree
#
# shellcheck disable=SC2016,SC2317 # awk has its own $; the rules are called by name.
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)

rules='top_level names includes headers awaits format width blanks last_line'

# --- files ------------------------------------------------------------------------------------

# Every file of the tree: what git knows or would add; without git, all but what a build leaves.
files() {
  { git ls-files --cached --others --exclude-standard 2>/dev/null ||
    find . -type f ! -path './.git/*' ! -path './build/*' ! -path './.cache/*' | sed 's,^\./,,'; } |
    while IFS= read -r file; do [ ! -f "$file" ] || printf '%s\n' "$file"; done
}

# Below, names have no blanks: rule_names sees to it.
code_files() { files | grep -E '\.(h|cpp)$'; }
text_files() { files | grep -vE '^test/transcripts/' | xargs -r grep -lI ''; }

# --- rules ------------------------------------------------------------------------------------

# The top level is fixed; a new place there is a decision, and this list is where it is made.
rule_top_level() {
  files | sed 's,/.*,,' | sort -u | while read -r name; do
    case $name in
      server | uring | coro | stats | test | bench | docs | deploy | .ci) continue ;;
      CMakeLists.txt | CMakePresets.json | Dockerfile | dev) continue ;;
      README.md | CHANGELOG.md | LICENSE) continue ;;
      .clang-format | .clang-tidy | .dockerignore | .editorconfig | .gitignore) continue ;;
    esac
    echo "$name:1: not one of the places at the top level (test/tidy.sh lists them)"
  done
}

rule_names() {
  files | grep -vE '^[A-Za-z0-9._/-]+$' | sed 's/$/:1: file names are of letters, digits, . _ -/'
}

rule_includes() {
  files | grep -E '\.(h|cpp|def)$' | xargs -r awk -f "$here/tidy/includes.awk"
}

# What it is, in a sentence; "Owner:" where there is one to name; "Threads:"; #pragma once.
rule_headers() {
  code_files | grep '\.h$' | xargs -r awk '
    FNR == 1 {
      is_opening = 1
      names_threads = 0
      if (!/^\/\/ [A-Za-z0-9_]+.* /) print FILENAME ":1: a header opens with what it is"
    }
    is_opening && /^\/\/.*Threads: / { names_threads = 1 }
    is_opening && !/^\/\// {
      is_opening = 0
      if (!names_threads) print FILENAME ":1: no Threads: in the opening says which may touch it"
      if ($0 != "#pragma once") print FILENAME ":" FNR ": #pragma once follows the opening"
    }'
}

rule_awaits() {
  code_files | xargs -r grep -lE 'co_(await|return|yield)' | xargs -r awk -f "$here/tidy/awaits.awk"
}

rule_format() {
  code_files | xargs -r -P 2 -n 16 clang-format-19 --dry-run -Werror 2>&1 |
    sed -n 's/^\([^:]*:[0-9]*\):[0-9]*: error: .*/\1: not as clang-format-19 writes it/p' | uniq
}

# Columns are characters: the second and later bytes of one are not counted.
rule_width() {
  text_files | grep -vE '\.md$' | xargs -r awk '
    length($0) > 100 {
      columns = $0
      gsub(/[\200-\277]/, "", columns)
      if (length(columns) <= 100) next
      print FILENAME ":" FNR ": " length(columns) " columns, more than 100"
    }'
}

rule_blanks() {
  text_files | xargs -r awk '
    /\t/ { print FILENAME ":" FNR ": a tab" }
    /[ \r]$/ && FILENAME !~ /[.]md$/ { print FILENAME ":" FNR ": a blank at the end of the line" }'
}

rule_last_line() {
  text_files | while read -r file; do
    [ -z "$(tail -c 1 "$file")" ] || echo "$file:$(wc -l <"$file"): no newline at the end"
  done
}

# ----------------------------------------------------------------------------------------------

die() {
  echo "tidy.sh: $*" >&2
  exit 2
}

command -v clang-format-19 >/dev/null || die "no clang-format-19: ./dev setup lint installs it"
[ "${1:-}" != --self-test ] || exec "$here/tidy/self-test.sh"
folder=$here/..
if [ "${1:-}" = --in ]; then
  folder=${2:?FOLDER is missing}
  shift 2
fi
cd "$folder" || exit 2
# shellcheck disable=SC2086 # A list of names.
[ $# -gt 0 ] || set -- $rules
found=$(
  for rule in "$@"; do
    case " $rules " in *" $rule "*) ;; *) die "no rule '$rule': there are $rules" ;; esac
    "rule_$rule"
  done
) || exit
[ -n "$found" ] || exit 0
printf '%s\n' "$found"
exit 1
