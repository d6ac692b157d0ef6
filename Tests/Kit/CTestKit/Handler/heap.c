// The size of the heap, for tests of leaks.
#include <malloc.h>
#include <stddef.h>

#include "cs_test_support.h"

size_t cs_test_heap_bytes(void) {
  const struct mallinfo2 information = mallinfo2();
  return information.uordblks + information.hblkhd;
}
