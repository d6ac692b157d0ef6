// The C part of containment-host: the supervisor, the counters that outlive the program, and the faults that Swift
// cannot express.
#ifndef CH_HOST_H
#define CH_HOST_H

#include <stdbool.h>
#include <stdint.h>

// The counters are in memory that the program shares with its supervisor.
typedef enum ch_counter : uint32_t {
  CH_BEGUN,                // requests that have begun, without those that trap on purpose
  CH_TRAPPING,             // 1: the trap is imminent
  CH_FINISHED_INDEPENDENT, // requests that do not need an object or a lock of the trapped request
  CH_TRAPPED_INDEPENDENT,
  CH_ENDED_INDEPENDENT,
  CH_FINISHED_DEPENDENT,
  CH_TRAPPED_DEPENDENT,
  CH_ENDED_DEPENDENT,
  CH_BAD_RETURNED, // requests that should have trapped, but returned
  CH_BAD_TRAPPED,
  CH_BAD_ENDED,
  CH_BAD_FAILED,
  CH_CAPACITY,        // tasks that began after the traps
  CH_SERIAL,          // tasks of CH_CAPACITY that did not run at the same time as all others
  CH_DRAINS,          // calls of onDrain
  CH_CUT_OFF,         // connections of an event loop that were shut down
  CH_CHILD_END,       // the signal that ended a forked child
  CH_RESIDENT_BEFORE, // KiB
  CH_RESIDENT_AFTER,
  CH_FILES_BEFORE, // open descriptors
  CH_FILES_AFTER,
  CH_COUNTERS,
} ch_counter;

uint64_t ch_add(ch_counter counter, uint64_t amount);
uint64_t ch_get(ch_counter counter);

// Starts the program again, with `--run` before its arguments, and waits until it ends. Then prints the counters and
// data of the ring as one line of JSON. Returns the exit status of the supervisor.
int ch_supervise(int argc, char **argv);
// Maps the counters. The program must call this function before it uses a counter.
void ch_open(void);
// Stores the resident memory and the number of open descriptors of the process.
void ch_note_resources(bool is_after);
// Waits until the supervisor has opened the ring of this process.
void ch_await_supervisor(void);

typedef void (*ch_body)(void);

// Executes the trap instruction (x86-64: `ud2`; AArch64: `brk #1`) in C code of this program.
void ch_trap(void);
// Executes the trap instruction in libm, which has no Swift code. Returns false if libm does not contain the bytes of
// this instruction.
bool ch_foreign_trap(void);
// Forks a child that runs `body`. Waits until the child ends.
void ch_in_forked_child(ch_body body);
void ch_write_null(void);
// Sends the signal that a trap raises to the calling thread, without a trap.
void ch_send_illegal(void);
void ch_breakpoint(void);
// Replaces the handler of the signal that a trap raises. The new handler calls the previous one.
void ch_replace_handler(void);
// Frees a pointer that malloc did not return, handles the SIGABRT of the C library, and continues.
void ch_corrupt_heap(void);
// Makes the allocator call the body while a lock of the allocator is held. Returns false if the allocator is not
// jemalloc.
bool ch_in_allocator(ch_body body);
// Makes the Swift runtime call the body while the runtime initializes the metadata of a type.
void ch_in_metadata(ch_body body);
// Calls the body on a new thread, and waits until it returns.
void ch_on_thread(ch_body body);
// Starts a thread that has the name and the connections of a NIO event loop. The thread calls the body whenever
// ch_loop_wake() wakes it.
void ch_loop_start(ch_body body);
void ch_loop_wake(void);

#endif
