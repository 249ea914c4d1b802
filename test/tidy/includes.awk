# includes.awk: finds includes that go against the directions of the tree (docs/design.md).
#
#   awk -f test/tidy/includes.awk FILE...     prints FILE:LINE: what is wrong
#
# ours: what a folder may include of the project. theirs: what else it may include. The C++ library
# and what comes with the compiler (intrinsics, the sanitizers' headers) are open to all.

BEGIN {
  ours["coro"] = "^coro/"
  ours["uring"] = "^(uring|coro)/"
  ours["stats"] = "^stats/"
  ours["server/protocol"] = "^(server/protocol/|coro/ensure[.]h$)"
  ours["server/cache"] = "^(server/cache/|stats/|coro/ensure[.]h$)"
  ours["server"] = "^(server|uring|coro|stats)/"
  ours["test"] = ours["bench"] = "^(server|uring|coro|stats|test|bench)/"

  compiler = "^[a-z0-9_]+$|^[a-z]*intrin[.]h$|^arm_[a-z]+[.]h$|^sanitizer/"
  theirs["coro"] = theirs["stats"] = theirs["server/protocol"] = compiler
  theirs["server/cache"] = compiler "|^xxhash[.]h$|^(unistd|sched)[.]h$|^sys/(mman|random)[.]h$"
  theirs["uring"] = compiler "|^liburing([.]h$|/)|^(sys|linux|netinet|arpa)/"
  theirs["uring"] = theirs["uring"] "|^(errno|fcntl|netdb|poll|sched|signal|time|unistd)[.]h$"
  theirs["server"] = theirs["test"] = theirs["bench"] = "."

  # These two know no coroutine.
  closed["server/protocol"] = closed["server/cache"] = "^coroutine$"
}

FNR == 1 {
  folder = FILENAME
  while (folder ~ "/" && !(folder in ours)) sub(/\/[^\/]*$/, "", folder)
}

(folder in ours) && /^[ \t]*#[ \t]*include[ \t]*["<]/ {
  path = $0
  sub(/^[^"<]*/, "", path)
  is_quoted = (path ~ /^"/)
  path = substr(path, 2)
  sub(/[">].*/, "", path)
  where = FILENAME ":" FNR ": " folder " may not include " path
  # A list that the build makes for a test.
  if (is_quoted && folder ~ /^(test|bench)$/ && path ~ /^[a-z_]+[.]inc$/) next
  if (is_quoted && path !~ /\//) print where ": paths are from the root, as in \"folder/file.h\""
  else if (is_quoted && path !~ ours[folder]) print where
  else if (is_quoted) next
  else if (path !~ theirs[folder]) print where
  else if ((folder in closed) && path ~ closed[folder]) print where
}
