// Containment: a Swift trap stops only the thread of a unit of work, and the process continues (docs/decisions/0086).
// This file is about the work of Shield.isolated; judge.h is about contained requests.
#ifndef CS_CONTAINED_H
#define CS_CONTAINED_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "../Kernel/memory.h"
#include "../Unwind/cfi.h"
#include "cs_ring.h"

// The maximum number of frames between the trap and the start of the work. If there are more frames, the trap ends the
// process.
#define CS_CONTAINED_FRAME_LIMIT 256
// The maximum number of async callers in the list of frames.
#define CS_CONTAINED_ASYNC_LIMIT 16

// The maximum number of images (libc, the loader, Dispatch) in which a thread must not be stopped forever.
#define CS_CONTAINED_IMAGE_LIMIT 8

// The maximum number of functions of the Swift runtime in which a thread must not be stopped forever.
#define CS_CONTAINED_FUNCTION_LIMIT 8

#define CS_CONTAINED_STREAM_COUNT 3

// The state of a thread that runs contained work. Only the signal handler on this thread uses the state.
typedef enum cs_contained_stage : uint32_t {
  CS_CONTAINED_RUNS = 0,
  CS_CONTAINED_RECORDS = 1, // the thread has trapped, and the handler is writing the incident
  CS_CONTAINED_REFUSED = 2, // the trap cannot be contained: the instruction traps again, and that trap is a crash
  CS_CONTAINED_PARKED = 3,
  CS_CONTAINED_UNPAID = 4, // the thread has trapped and the budget of stopped threads is used up: the trap is a crash
} cs_contained_stage;

typedef struct cs_contained_range {
  uint64_t start;
  uint64_t end;
} cs_contained_range;

// One unit of contained work. It has two references: one of the thread that waits for the work, and one of the thread
// that runs it. After a trap, the thread that ran the work keeps its reference forever.
typedef struct cs_contained {
  uint32_t end;        // atomic, a futex: 0 while the work runs, then a cs_shim_contained_end
  uint32_t references; // atomic
  uint32_t holds;      // atomic: the number of the shield's locks that the work's thread holds
  int pid;             // the process that started the work; differs from the current process in a forked child, which
                       // inherits the structure
  uint64_t begin;      // the start address of the function that has the outermost frame of the work
  uint32_t way; // the number of outermost frames in which functions of the Swift runtime are allowed, because they run
                // the work's task
  cs_contained_stage stage;
  ucontext_t *context; // the kernel's context of the trap
  cs_cfi_scratch scratch;
  cs_ring_frame frames[CS_CONTAINED_FRAME_LIMIT + CS_CONTAINED_ASYNC_LIMIT];
} cs_contained;

// The code to which a frame belongs, as far as containment distinguishes it.
typedef enum cs_contained_place {
  CS_CONTAINED_PROGRAM = 0, // the program, its libraries, and the standard library
  CS_CONTAINED_LIBC,        // the C library or the loader
  CS_CONTAINED_DISPATCH,
  CS_CONTAINED_ONCE,        // the function that initializes lazy globals
  CS_CONTAINED_CANCEL,      // a function that calls the program's code while it holds a task's lock
  CS_CONTAINED_CONCURRENCY, // another function of Swift's concurrency library
} cs_contained_place;

// The results of cs_contained_find(). They do not change after the first work has started.
typedef struct cs_contained_layout {
  int64_t offset; // atomic: from the thread pointer to the variable with the thread's work; 0: not yet known
  uint32_t image_count;
  cs_contained_range images[CS_CONTAINED_IMAGE_LIMIT];
  bool is_dispatch[CS_CONTAINED_IMAGE_LIMIT]; // whether the image is Dispatch
  cs_contained_range concurrency;             // Swift's concurrency library, if it is a shared library
  bool has_once;                              // whether the first function is the one that initializes lazy globals
  uint32_t function_count;
  uint64_t function_start[CS_CONTAINED_FUNCTION_LIMIT]; // the function starts, as in the unwind tables
  // The addresses of the owner fields in glibc's locks of stdin, stdout and stderr.
  uint64_t stream_owner[CS_CONTAINED_STREAM_COUNT];
  int64_t self_offset; // from a thread's thread pointer to the value by which glibc identifies the thread
} cs_contained_layout;

extern cs_contained_layout cs_contained_here;

// Unwinds from `registers`. Lists the frames on the stack, the innermost first, and then the async callers. Returns the
// number of first frames that were all found by unwind tables, at most CS_CONTAINED_FRAME_LIMIT. Stores the number of
// all listed frames, and whether the stack has more frames than the limit (`ret_is_deep`).
uint32_t cs_contained_list(cs_cfi_scratch *scratch, const cs_ring_registers *registers, cs_ring_frame *frames,
                           uint32_t *ret_count, bool *ret_is_deep) SIGNAL_SAFE;

cs_contained_place cs_contained_place_of(const cs_ring_frame *frame) SIGNAL_SAFE;

// Returns whether this thread holds the lock of a standard stream.
bool cs_contained_has_stream(cs_memory *memory) SIGNAL_SAFE;

// Stores in `work->way` the number of outermost frames that run the work's task: from the innermost frame of Swift's
// concurrency library to the start of the work. `registers` are those of the calling function.
void cs_contained_note_way(cs_contained *work, const cs_ring_registers *registers) SIGNAL_SAFE;

// Lists the frames from the trap at `registers` to the start of the work, and then the async callers. Returns the
// number of frames without the async callers, or 0 if a frame is unknown, or if the thread must not be stopped forever
// in one of them. Stores the number of all listed frames in `ret_count`.
uint32_t cs_contained_way_of_trap(cs_contained *work, const cs_ring_registers *registers,
                                  uint32_t *ret_count) SIGNAL_SAFE;

// Returns whether our handler is installed. If our handler is not installed, a handler that replaced ours has called
// it, and can hold a lock.
bool cs_contained_is_direct(int signal) SIGNAL_SAFE;

// Returns whether the signal is from a trap instruction.
bool cs_contained_is_trap(int signal, const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE;

// The runtime error message of a contained trap.
typedef struct cs_contained_message {
  uint32_t bytes;
  uint8_t text[CS_RING_SUBJECT_LIMIT_BYTES];
} cs_contained_message;

// trap_incident.c: records the incident of a trap. `frames` contains `own` frames of the stack, and then the async
// callers; there are `count` frames in total. `amount` is the number of the request, or 0. `ret_message` may be NULL.
// Returns false if the ring has no room for the incident.
bool cs_contained_record(uint32_t kind, int64_t amount, const cs_ring_registers *registers, const cs_ring_frame *frames,
                         uint32_t own, uint32_t count, cs_contained_message *ret_message) SIGNAL_SAFE;

// Blocks all signals of a thread that stays in the handler, except setuid()'s.
void cs_contained_block_signals(void) SIGNAL_SAFE;

// Determines all fields of the layout except `offset`. Returns NULL, or the reason why this process cannot contain
// traps. A signal handler must not call this function.
const char *cs_contained_find(cs_contained_layout *ret_layout);

// Returns the addresses that an image occupies.
struct dl_phdr_info;
cs_contained_range cs_contained_range_of(const struct dl_phdr_info *information);

// The maximum number of threads that are stopped forever, and their current number. Both variables are atomic.
extern uint32_t cs_contained_budget;
extern uint32_t cs_contained_parked;

// Handles a signal that did not interrupt our handler. Does not return for a contained trap. Returns true if the thread
// must continue at `context`, which this function has changed. Returns false if containment does not handle the signal.
bool cs_containment_takes(int signal, const siginfo_t *information, ucontext_t *context) SIGNAL_SAFE;

// incident.c: records an incident, like cs_shim_incident(). Returns false if the incident is not in the ring, because
// the shield is not started or the table is full. If the table is full, the function increments the counter of lost
// incidents.
bool cs_incident_keep(const cs_ring_incident *incident) SIGNAL_SAFE;

// Returns whether the trap of the calling thread counts as a crash because the budget of stopped threads is used up.
bool cs_contained_is_over_budget(void) SIGNAL_SAFE;

// In a forked child: resets the number of stopped threads.
void cs_contained_forget(void) SIGNAL_SAFE;

// In a forked child: stores that the only remaining thread runs no contained work. A signal handler must not call this
// function.
void cs_contained_forget_here(void);

#endif
