// Writes two kinds of lines about a crash. The last words are a short text for people. The record line contains the
// crash record as text, and is written if neither crashd nor the spool directory has got the crash
// (docs/decisions/0141).
#ifndef CS_LINES_H
#define CS_LINES_H

#include <stdbool.h>

#include "../Dispatch/state.h"

// If several threads have crashed together, writes the lines only once, for the first of these crashes. The lines are
// also written if the process survives the signal, because the program's handler that lets it continue runs later.
// Preconditions: the record is committed, and the handler has tried to deliver the crash. Concurrency: any crashing
// thread and the watchdog may call this function. If another thread is writing the lines, the calling thread waits for
// it, at most 500 ms.
void cs_lines_write(void) SIGNAL_SAFE;

// At the start, if these lines are enabled: writes to the buffers, so that their pages are in memory.
void cs_lines_prefault(void);

// In a forked child: resets the state, so that the child can write the lines of its own crash.
void cs_lines_forget(void) SIGNAL_SAFE;

#endif
