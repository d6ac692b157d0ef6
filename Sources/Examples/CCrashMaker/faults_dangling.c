// Use of memory that was given back.
#include "faults.h"

#include <stdlib.h>

typedef struct job {
  long count;
  void (*finish)(long count);
} job;

static void finish(long count) {
  cs_opaque((int)count);
}

// A C library calls back with a context that its owner has freed. glibc has put its mark where the function was.
FAULT void cs_fault_c_callback_context(void) {
  job *made = malloc(sizeof *made);
  if (made == NULL) return;
  *made = (job){.count = cs_opaque(3), .finish = finish};
  // The compiler must not see that it is the same block.
  job *volatile kept = made;
  free(made);
  kept->finish(kept->count); // fault: c-callback-context
  cs_opaque(1);
}
