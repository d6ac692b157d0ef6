// Fills the parts of a crash record, in the order of the calls.
#ifndef CS_RECORD_H
#define CS_RECORD_H

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "../Dispatch/crasher.h"
#include "cs_ring.h"

// Process, time, signal and registers.
void cs_record_signal(cs_ring_record *record, int tid, const siginfo_t *information, const ucontext_t *context,
                      uint64_t entry_ns) SIGNAL_SAFE;

// The stack, scrubbed as configured. The unwinder can then read the recorded range of the stack without checks.
void cs_record_stack(cs_ring_slot *slot, cs_memory *memory) SIGNAL_SAFE;

// The error messages of the Swift runtime and glibc.
void cs_record_messages(cs_ring_record *record) SIGNAL_SAFE;

// The memory around the registers' pointers. Precondition: the stack is recorded.
void cs_record_memory(cs_ring_record *record) SIGNAL_SAFE;

// The Swift task that the thread runs.
void cs_record_task(cs_ring_record *record) SIGNAL_SAFE;

// The type of the uncaught C++ exception, and its text. Precondition: the frames are known.
void cs_record_exception(cs_ring_record *record) SIGNAL_SAFE;

// The exception's text. `globals` is libstdc++'s __cxa_eh_globals of the thread.
void cs_record_exception_text(cs_ring_record *record, uint64_t globals) SIGNAL_SAFE;

// The class of the object that a runtime error message names. Precondition: message and exception are recorded.
void cs_record_object_class(cs_ring_record *record) SIGNAL_SAFE;

// The file whose mapping a SIGBUS is about.
void cs_record_mapped_file(cs_ring_record *record) SIGNAL_SAFE;

// message.c: copies the runtime error messages that no record contains yet, or the start of the last one. Returns the
// number of bytes. `ret_end` is the end of the text that was read.
uint32_t cs_message_read(uint8_t *ret_text, size_t limit, size_t *ret_end) SIGNAL_SAFE;
// Marks the messages up to `end` as recorded by a survived trap. Later crashes skip them.
void cs_message_mark_recorded(size_t end) SIGNAL_SAFE;

// scrub.c: overwrites each run of text in `bytes`, a copy of aligned memory. `size` is a multiple of eight. Words that
// a register holds and addresses are kept, because the bytes of a frame pointer may look like text.
void cs_scrub(uint8_t *bytes, size_t size, const cs_ring_registers *registers) SIGNAL_SAFE;

#endif
