// Writes the lines that a crash leaves outside of crashd: the last words, and the record line if neither crashd nor the
// spool took the crash (docs/decisions/0141).
#ifndef CS_LINES_H
#define CS_LINES_H

#include <stdbool.h>

#include "../Dispatch/state.h"

// Writes the lines of the first of the crashes that happened together. Only the first call for these crashes writes.
// A sent signal whose handler of the program lets the process continue also leaves lines, because the handler runs
// later. Preconditions: the record is committed, and the crash is delivered as far as possible. Concurrency: any
// crashing thread and the watchdog may call this function. A thread that finds another one writing waits for it, at
// most 500 ms.
void cs_lines_write(void) SIGNAL_SAFE;

// At the start, if a crash will leave lines: writes to the buffers, so that their pages are in memory.
void cs_lines_prefault(void);

// In a forked child: lets the child write its own lines.
void cs_lines_forget(void) SIGNAL_SAFE;

#endif
