// Which allocations get a slot, of those whose size is looked for.
#ifndef CS_SHOULD_SAMPLE_H
#define CS_SHOULD_SAMPLE_H

#include <stdbool.h>

// Whether this one does: one in cs_page_one_in.
bool cs_page_should_sample(void) __attribute__((visibility("hidden")));

#endif
