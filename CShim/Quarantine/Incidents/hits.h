// The incidents by kind, class, method and call stack, each with a count.
#ifndef CS_QUARANTINE_HITS_H
#define CS_QUARANTINE_HITS_H

#include "publish.h"

void cs_hit(const cs_use *use) __attribute__((visibility("hidden")));

#endif
