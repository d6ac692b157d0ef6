// Handlers that do not get on.
#include <stdlib.h>
#include <unistd.h>

#include "cs_testing.h"
#include "ways.h"

int cs_test_run_in_trouble(uint32_t trouble, uint32_t places, uint32_t thread_count, const char *directory) {
  const int child = cs_test_fork();
  if (child != 0) return cs_test_wait(child);
  setenv("CRASHSHIELD_DEADLINE_MS", "1000", 1);
  cs_test_start(directory);
  cs_testing_trouble_handler(trouble, places);
  cs_test_crash_on_threads(thread_count);
  _exit(92);
}
