// Which allocations get a slot, of those whose size is looked for.
#ifndef CS_DRAW_H
#define CS_DRAW_H

#include <stdbool.h>

// Whether this one does: one in cs_page_one_in.
bool cs_page_is_drawn(void) __attribute__((visibility("hidden")));

#endif
