// The crashes of the host, and what their records must contain.
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cs_ring.h"

#define FRAME_NAME_LIMIT 8

// The frames must have these names, from the innermost one on. The name "*" skips frames up to the next name. The name
// "-" stands for a frame without a function name: the code to which signal handlers return, or an address without code.
typedef struct crash {
  const char *name;
  void (*run)(void);
  int signal;
  int code;
  const char *frames[FRAME_NAME_LIMIT];
  bool (*check)(const cs_ring_record *record); // NULL: no more checks
} crash;

extern const crash crashes[];
extern const size_t crash_count;

// Runs the child programs of CTestKit. Runs those with a fault in the handler only if `has_nested` is true. Returns the
// number of child programs that ran, and adds the number of those that failed to `ret_failures`.
int run_ways(const char *directory, bool has_nested, int *ret_failures);

// Prints which check failed, and returns false.
bool complain(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
