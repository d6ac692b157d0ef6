// What Swift's runtime has said so far.
#include "faults.h"

#include <stddef.h>

extern const char *volatile *swift_getFatalErrorMessageBuffer(void) __attribute__((weak));

bool cs_runtime_has_spoken(void) {
  return swift_getFatalErrorMessageBuffer == NULL || *swift_getFatalErrorMessageBuffer() != NULL;
}
