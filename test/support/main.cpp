// The main function of every test executable. Raises the soft limit of descriptors first, for the
// servers and clients that tests start; a test that needs more than it gets says so itself.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <sys/resource.h>

int main(int argc, char** argv) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  doctest::Context context(argc, argv);
  return context.run();
}
