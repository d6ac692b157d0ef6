// Crashes once below 20 frames, for scripts/measure/handler.
// Usage: crash SOCKET SPOOL, with a socket that does not exist
#include <stddef.h>

#include "cs_shim.h"

enum { DEPTH = 20 };

static int descend(volatile int *null, int depth);

// A call through a volatile pointer stays a call. The compiler turns a direct recursion into a loop, which has one
// frame.
static int (*volatile deeper)(volatile int *, int) = descend;

static int descend(volatile int *null, int depth) {
  if (depth == 0) return *null = 1;
  return deeper(null, depth - 1) + 1;
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  const cs_shim_configuration configuration = {.socket_path = arguments[1], .spool_directory = arguments[2]};
  cs_shim_failure failure = {0};
  if (cs_shim_start(&configuration, &failure) != CS_SHIM_OK) return 3;
  return descend(NULL, DEPTH);
}
