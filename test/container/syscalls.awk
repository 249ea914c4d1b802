# syscalls.awk: the system calls that a container made after its seccomp filter was loaded.
#
#   awk -f test/container/syscalls.awk LOG...    prints their names
#
# The logs are of strace -f --pidns-translation around an OCI runtime. The runtime's init loads the
# filter and then becomes the container's program; from there on its calls count, with those of its
# other threads (a filter may be loaded for all) and of all that any of them starts.

FNR == 1 {
  split("", process)  # thread -> the process that it belongs to
  split("", counts)   # process -> its calls count
  split("", call)     # thread -> the call that it is in, when strace cut the line
}

{
  thread = $1
  if (!(thread in process)) process[thread] = thread
  text = substr($0, index($0, " ") + 1)
  sub(/^ +/, "", text)
  if (text ~ /^(---|[+][+][+])/) next
  if (text ~ /^<[.][.][.] /) {
    text = call[thread] text
  } else {
    name = text
    sub(/[(].*/, "", name)
    if (process[thread] in counts) print name
    call[thread] = text
  }
  if (text ~ /<unfinished [.][.][.]>$/) next
  if (text ~ /^(clone|clone3|fork|vfork)[(]/) Child()
  if (text ~ /^(prctl[(]PR_SET_SECCOMP, SECCOMP_MODE_FILTER|seccomp[(]SECCOMP_SET_MODE_FILTER)/)
    if (text ~ /= 0$/) counts[process[thread]] = 1
}

# A clone has come back in the parent: its result is the child, as strace or as the container
# numbers it; in the latter case strace's number follows in a comment.
function Child() {
  if (!match(text, /= [0-9]+( \/[*] [0-9]+ in strace's PID NS \*\/)?$/)) return
  child = substr(text, RSTART + 2)
  if (child ~ /\*/) sub(/^[0-9]+ \/\* /, "", child)
  sub(/ .*/, "", child)
  process[child] = (text ~ /CLONE_THREAD/) ? process[thread] : child
  if (process[thread] in counts) counts[process[child]] = 1
}
