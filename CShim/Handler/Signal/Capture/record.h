// Functions that fill the parts of a crash record, in the order in which they are called.
#ifndef CS_RECORD_H
#define CS_RECORD_H

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "../Dispatch/crasher.h"
#include "cs_ring.h"

// Records the process, the time, the signal and the registers.
void cs_record_signal(cs_ring_record *record, int tid, const siginfo_t *information, const ucontext_t *context,
                      uint64_t entry_ns) SIGNAL_SAFE;

// Copies the top of the stack to the slot. Depending on the memory mode, overwrites text in the copy (scrubbing) or
// records nothing. The unwinder can then read the recorded range of the stack without asking the kernel whether the
// range is readable.
void cs_record_stack(cs_ring_slot *slot, cs_memory *memory) SIGNAL_SAFE;

// Records the error messages of the Swift runtime and glibc.
void cs_record_messages(cs_ring_record *record) SIGNAL_SAFE;

// Records memory near the addresses that registers contain. Precondition: the stack is recorded.
void cs_record_memory(cs_ring_record *record) SIGNAL_SAFE;

// Records the Swift task that the thread runs.
void cs_record_task(cs_ring_record *record) SIGNAL_SAFE;

// Records the type and the message of the uncaught C++ exception. Precondition: the frames are recorded.
void cs_record_exception(cs_ring_record *record) SIGNAL_SAFE;

// Records the exception's message. `globals` is the address of the thread's __cxa_eh_globals in libstdc++.
void cs_record_exception_text(cs_ring_record *record, uint64_t globals) SIGNAL_SAFE;

// Records the class of the object that a runtime error message mentions. Precondition: the message and the exception
// are recorded.
void cs_record_object_class(cs_ring_record *record) SIGNAL_SAFE;

// Records the file whose mapping caused a SIGBUS.
void cs_record_mapped_file(cs_ring_record *record) SIGNAL_SAFE;

// A position in the string to which the Swift runtime appends its error messages: the end of the messages that were
// read.
typedef struct cs_message_end {
  uint64_t string; // the address of the runtime's string; 0 if there is no message
  size_t offset;
} cs_message_end;

// message.c: copies the runtime error messages that no record contains yet. If they do not fit, copies the last message
// or its beginning. Returns the number of bytes. Sets `ret_end` to the end of the read messages.
uint32_t cs_message_read(uint8_t *ret_text, size_t limit, cs_message_end *ret_end) SIGNAL_SAFE;
// Marks the messages up to `end` as recorded, after a contained trap, which does not end the process. The records of
// later crashes omit these messages.
void cs_message_mark_recorded(cs_message_end end) SIGNAL_SAFE;

// scrub.c: overwrites each run of text characters in `bytes`, a copy of aligned memory. `size` must be a multiple of
// eight. Keeps words that are also in a register, and words that are addresses of mapped memory: their bytes can look
// like text by chance.
void cs_scrub(uint8_t *bytes, size_t size, const cs_ring_registers *registers) SIGNAL_SAFE;

#endif
