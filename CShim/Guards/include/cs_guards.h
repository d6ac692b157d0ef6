// The modes of the guards, and records of the faults that guards detected. There is one record for each kind and call
// site, with an exact count. The functions are lock-free. Any thread may call them, also in a forked child, but a
// signal handler may not.
#ifndef CS_GUARDS_H
#define CS_GUARDS_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"

#define CS_GUARD_KINDS      64
#define CS_GUARD_SITES      1024 // the maximum number of records
#define CS_GUARD_FILE_BYTES 96   // of "Module/File.swift"; of a longer name, only the end is kept

// The ring records faults of this kind as use-after-free incidents that contain the class, and not as guard incidents.
#define CS_GUARD_KIND_HANDLE 24

// The source location of a guard. The file name is UTF-8 without a terminator. The functions read it only during the
// call.
typedef struct cs_guard_site {
  const uint8_t *file;
  uint32_t file_bytes;
  uint32_t line;
  uint32_t kind; // below CS_GUARD_KINDS
  uint64_t pc;   // if there is no file: a return address in the faulting function
                 // if there is a file: a number that distinguishes faults in the same line; 0: none
} cs_guard_site;

// The details of the first fault of a kind at a call site.
typedef struct cs_guard_details {
  const uint8_t *reason; // UTF-8 without a terminator; the ring stores it after the file name and cuts it to fit
  uint32_t reason_bytes;
  cs_mode mode;
  int32_t thread;
  uint32_t frame_count; // at most CS_RING_INCIDENT_FRAME_LIMIT
  uint64_t task;        // the result of cs_guard_task()
  const uint64_t *frames;
} cs_guard_details;

typedef struct cs_guard_record cs_guard_record;

// A consistent copy of a record.
typedef struct cs_guard_copy {
  uint32_t kind;
  uint32_t line;
  cs_mode mode;
  uint32_t file_bytes;
  uint32_t reason_bytes;
  uint64_t count;
  int32_t thread;
  uint32_t frame_count;
  uint64_t task;
  uint8_t file[CS_GUARD_FILE_BYTES];
  uint8_t reason[256];
  uint64_t frames[CS_RING_INCIDENT_FRAME_LIMIT];
} cs_guard_copy;

cs_mode cs_guard_mode_of(uint32_t kind);
void cs_guard_set_mode(uint32_t kind, cs_mode mode);
// The mode of implicit guards, which the compiler inserts and which are not calls in the source. The default is
// CS_MODE_OBSERVE.
cs_mode cs_guard_implicit_mode_of(uint32_t kind);
void cs_guard_set_implicit_mode(uint32_t kind, cs_mode mode);

// Sets the operator's overrides, which take precedence over the modes of both explicit and implicit guards. Each array
// contains CS_GUARD_KINDS elements, one cs_control_guard for each kind. Returns the number of modes that the arrays
// set. Only the shield's own thread calls this function.
uint32_t cs_guard_set_operator_modes(const uint8_t *modes, const uint8_t *implicit_modes, uint32_t round);
// Removes the overrides of other rounds.
void cs_guard_sweep(uint32_t round);

// The line of the test of implicit guards that this thread runs; 0 outside of a test. Implicit guards have no line of
// their own.
uint64_t cs_guard_probe_line(void);
void cs_guard_set_probe_line(uint64_t line);
// The call site of this thread's last fault in a test.
uint64_t cs_guard_probe_pc(void);
void cs_guard_set_probe_pc(uint64_t pc);

// Counts a fault, and sets `*ret_count` to the number of its occurrences. The caller that gets 1 calls
// cs_guard_describe. Returns NULL and counts the loss if there is no room for another call site.
cs_guard_record *cs_guard_count(const cs_guard_site *site, uint64_t *ret_count);
void cs_guard_describe(cs_guard_record *record, const cs_guard_details *details);
// The number of faults dropped because the table was full.
uint64_t cs_guard_lost(void);

// Takes the occurrences of a described record that the ring does not have yet, and returns their number and the
// incident. A caller that gets a number above 0 publishes the occurrences, or gives them back.
uint64_t cs_guard_take_unpublished(cs_guard_record *record, const cs_ring_incident **ret_incident);
void cs_guard_give_back(cs_guard_record *record, uint64_t times);

// Returns the record at an index of the table, below CS_GUARD_SITES; NULL if the entry is free or not described yet.
cs_guard_record *cs_guard_at(uint32_t place);
void cs_guard_read(const cs_guard_record *record, cs_guard_copy *ret_copy);

// Marks this thread as being in a fault callback. Returns false if it is already in one: faults inside a callback do
// not call it.
bool cs_guard_enter_observer(void);
void cs_guard_leave_observer(void);

// The innermost queue whose body this thread runs, as cs_guard_set_entered stored it; NULL if there is none.
const void *cs_guard_entered(void);
void cs_guard_set_entered(const void *entered);

// The number of the Swift task that runs on this thread; 0 if there is none, or if the runtime does not provide it.
uint64_t cs_guard_task(void);

// Whether the Swift runtime supports the next function.
bool cs_guard_has_executor_query(void);
// Whether the runtime reports this executor as the current one of this thread. The two words are those of Swift's
// UnownedSerialExecutor.
bool cs_guard_is_current_executor(uintptr_t identity, uintptr_t implementation);

#endif
