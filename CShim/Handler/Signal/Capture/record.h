// Fills the parts of a crash record, in the order of the calls.
#ifndef CS_RECORD_H
#define CS_RECORD_H

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "../Dispatch/crasher.h"
#include "cs_ring.h"

// Who, what, when, and the registers.
void cs_record_signal(cs_ring_record *record, int tid, const siginfo_t *information, const ucontext_t *context,
                      uint64_t entry_ns) SIGNAL_SAFE;

// The stack, scrubbed as configured. Its range becomes the memory that the walk reads without asking.
void cs_record_stack(cs_ring_slot *slot, cs_memory *memory) SIGNAL_SAFE;

// What the Swift runtime and glibc said before they ended the process.
void cs_record_messages(cs_ring_record *record) SIGNAL_SAFE;

// The words around what the registers point at. Precondition: the stack is recorded.
void cs_record_memory(cs_ring_record *record) SIGNAL_SAFE;

// The Swift task that the thread runs.
void cs_record_task(cs_ring_record *record) SIGNAL_SAFE;

// The type of the uncaught C++ exception, and its text. Precondition: the frames are known.
void cs_record_exception(cs_ring_record *record) SIGNAL_SAFE;

// Its text, given libstdc++'s __cxa_eh_globals of the thread.
void cs_record_exception_text(cs_ring_record *record, uint64_t globals) SIGNAL_SAFE;

// The class of the object that the message is about. Precondition: message and exception are recorded.
void cs_record_object_class(cs_ring_record *record) SIGNAL_SAFE;

// The file whose mapping a SIGBUS is about.
void cs_record_mapped_file(cs_ring_record *record) SIGNAL_SAFE;

// message.c: copies what the Swift runtime has said that no record has yet, or the beginning of its last report.
// Returns how many bytes; `ret_end` says how far it goes.
uint32_t cs_message_read(uint8_t *ret_text, size_t limit, size_t *ret_end) SIGNAL_SAFE;
// A trap that the process survived has it so far: later crashes leave it out.
void cs_message_mark_recorded(size_t end) SIGNAL_SAFE;

// scrub.c: overwrites each run of text in `bytes`, a copy of memory that was aligned to eight bytes, `size` a multiple
// of eight. Words that a register holds, and addresses, stay: a frame pointer may read like text.
void cs_scrub(uint8_t *bytes, size_t size, const cs_ring_registers *registers) SIGNAL_SAFE;

#endif
