// Writes the lines that a crash leaves outside of crashd: the last words, and the record line if neither crashd nor the
// spool got the crash (docs/decisions/0141).
#ifndef CS_LINES_H
#define CS_LINES_H

#include <stdbool.h>

#include "../Dispatch/state.h"

// If several threads have crashed together, writes the lines of the first of these crashes. Only the first call for
// these crashes writes lines. If a signal was sent and the program's handler lets the process continue, the lines are
// written nevertheless, because that handler runs later. Preconditions: the record is committed, and the handler has
// tried to deliver the crash. Concurrency: any crashing thread and the watchdog may call this function. If another
// thread is writing the lines, the calling thread waits for it, at most 500 ms.
void cs_lines_write(void) SIGNAL_SAFE;

// At the start, if these lines are enabled: writes to the buffers, so that their pages are in memory.
void cs_lines_prefault(void);

// In a forked child: resets the state, so that the child can write the lines of its own crash.
void cs_lines_forget(void) SIGNAL_SAFE;

#endif
