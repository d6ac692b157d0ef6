#include "marks.h"

#include <valgrind/callgrind.h>

void mark_begin(void) {
  CALLGRIND_ZERO_STATS;
}

void mark_end(const char *name) {
  CALLGRIND_DUMP_STATS_AT(name);
}
