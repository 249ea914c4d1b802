// RefuseSystemCall: makes a system call fail from now on with an errno, as a container's seccomp
// profile does. It cannot be taken back: for child processes.
//
// Threads: the calling one and those it starts.
#pragma once

namespace process {

// `number` as in <sys/syscall.h>. Returns whether the filter is in place.
bool RefuseSystemCall(int number, int error);

}  // namespace process
