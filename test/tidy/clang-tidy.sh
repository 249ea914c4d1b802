#!/bin/sh
# clang-tidy.sh: clang-tidy 19 over every .cpp of the tree, as many at once as there are processors.
#
#   test/tidy/clang-tidy.sh BUILD...     the build folders that compile the files
#
# Fails when clang-tidy finds anything, or when no BUILD compiles a file. A file found clean is not
# checked again, in this tree or another, until something changes that it is made of: itself, what
# it includes of ours, how it is compiled, .clang-tidy, clang-tidy, or an installed -dev package.
# That is remembered as one empty file each in the user's cache folder.
set -eu
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ringcached/clang-tidy

# Prints FILE and all that it includes of ours, directly or not; such includes are from the root.
parts_of() {
  awk '
    function Visit(file,    line) {
      if (file in seen) return
      seen[file] = 1
      if ((getline line < file) < 0) return  # The build makes it.
      print file
      do {
        if (line !~ /^[ \t]*#[ \t]*include[ \t]*"/) continue
        sub(/^[^"]*"/, "", line)
        sub(/".*/, "", line)
        Visit(line)
      } while ((getline line < file) > 0)
      close(file)
    }
    BEGIN { Visit(ARGV[1]) }' "$1"
}

# Prints how BUILD compiles FILE, in words that do not say where this tree lies; nothing if it does
# not.
command_of() {
  [ ! -f "$1/compile_commands.json" ] || awk -v root="$PWD" -v file="\"$PWD/$2\"" '
    /^ *"command": / { command = $0 }
    /^ *"file": / && index($0, file) {
      while (at = index(command, root))
        command = substr(command, 1, at - 1) "." substr(command, at + length(root))
      print command
      exit
    }' "$1/compile_commands.json"
}

# check COMMON FILE BUILD...
check() {
  common=$1 file=$2
  shift 2
  for build in "$@"; do
    command=$(command_of "$build" "$file")
    [ -n "$command" ] || continue
    # shellcheck disable=SC2046 # Names of files, which have no blanks (test/tidy.sh).
    key=$({ echo "$common $command"; sha256sum $(parts_of "$file"); } | sha256sum | cut -d ' ' -f 1)
    [ ! -f "$cache/$key" ] || return 0
    clang-tidy-19 --quiet -p "$build" "$file" 2>/dev/null || return 1
    touch "$cache/$key"
    return 0
  done
  echo "$file: in no compile_commands.json of $*: which CMakeLists.txt forgot it?"
  return 1
}

if [ "${1:-}" = --check ]; then
  shift
  check "$@"
  exit
fi

[ $# -gt 0 ] || { echo 'usage: test/tidy/clang-tidy.sh BUILD...' >&2; exit 2; }
cd "$(dirname "$0")/../.."
mkdir -p "$cache"
find "$cache" -type f -mtime +30 -delete
common=$({ clang-tidy-19 --version; cat .clang-tidy; dpkg-query -W '*-dev' 2>/dev/null; } |
  sha256sum)
{ git ls-files --cached --others --exclude-standard -- '*.cpp' 2>/dev/null ||
  find . -name '*.cpp' ! -path './build/*' | sed 's,^\./,,'; } |
  while read -r file; do [ ! -f "$file" ] || echo "$file"; done |
  xargs -r -P "$(nproc)" -I FILE test/tidy/clang-tidy.sh --check "$common" FILE "$@"
