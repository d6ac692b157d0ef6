// Fills the parts of a crash record, in the order of the calls.
#ifndef CS_RECORD_H
#define CS_RECORD_H

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "crasher.h"
#include "cs_ring.h"

// Who, what, when, and the registers.
void cs_record_signal(cs_ring_record *record, int tid, const siginfo_t *information, const ucontext_t *context,
                      uint64_t entry_ns) SIGNAL_SAFE;

// The raw stack. Its range becomes the memory that the walk reads without asking.
void cs_record_stack(cs_ring_slot *slot, cs_memory *memory) SIGNAL_SAFE;

// What the Swift runtime and glibc said before they ended the process.
void cs_record_messages(cs_ring_record *record) SIGNAL_SAFE;

// The type of the C++ exception that nobody caught. Precondition: the frames are known.
void cs_record_exception(cs_ring_record *record) SIGNAL_SAFE;

#endif
