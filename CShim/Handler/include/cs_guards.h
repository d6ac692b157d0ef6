// The modes of the guards (checks around operations that could trap), and records of the faults that guards detected. A
// mode says whether a guard absorbs a fault, only observes it, or is off. There is one record for each kind of guard
// and call site, with an exact count. The functions are lock-free. Any thread may call them, also in a forked child,
// but a signal handler may not.
#ifndef CS_GUARDS_H
#define CS_GUARDS_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"

#define CS_GUARD_KINDS      64
#define CS_GUARD_SITES      1024 // the maximum number of records
#define CS_GUARD_FILE_BYTES 96   // maximum length of "Module/File.swift"; of a longer name, only the end is kept

// The kind of guard that detects that the handle of a C callback is used after its object was deallocated. The ring
// shows its faults as use-after-free incidents of a class, and the faults of all other kinds as guard incidents.
#define CS_GUARD_KIND_HANDLE 24

// The source location of a guard. The file name is UTF-8 without a terminator. The functions read the file name only
// during the call.
typedef struct cs_guard_site {
  const uint8_t *file;
  uint32_t file_bytes;
  uint32_t line;
  uint32_t kind; // below CS_GUARD_KINDS
  uint64_t pc;   // if there is no file: a return address in the function with the fault
                 // if there is a file: a number that distinguishes several guards in one line; 0: none
} cs_guard_site;

// The details of the first fault of a kind at a call site.
typedef struct cs_guard_details {
  const uint8_t *reason; // UTF-8 without a terminator; stored in the ring after the file name, and cut to fit
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
// The mode of implicit guards, which guard plain operations without a guard call in the source. The default is
// CS_MODE_OBSERVE.
cs_mode cs_guard_implicit_mode_of(uint32_t kind);
void cs_guard_set_implicit_mode(uint32_t kind, cs_mode mode);

// Sets the operator's overrides, which take precedence over the modes of both explicit and implicit guards. Each array
// contains CS_GUARD_KINDS elements, one cs_control_guard for each kind. Returns the number of modes that the arrays
// set. Only the shield's own thread calls this function.
uint32_t cs_guard_set_operator_modes(const uint8_t *modes, const uint8_t *implicit_modes, uint32_t round);
// Removes the overrides that do not belong to `round` (the number of crashd's current set of controls, cs_attach.h),
// because crashd did not send them again.
void cs_guard_sweep(uint32_t round);

// Implicit guards have no source line. A running test of implicit guards sets this number, which the guards on this
// thread then use as the source line; 0 outside of a test.
uint64_t cs_guard_probe_line(void);
void cs_guard_set_probe_line(uint64_t line);
// The pc of the call site of the last fault that this thread detected during a test of the guards.
uint64_t cs_guard_probe_pc(void);
void cs_guard_set_probe_pc(uint64_t pc);

// Counts a fault, and sets `*ret_count` to the number of its occurrences. If the number is 1, the caller must call
// cs_guard_describe() with the details. If the table has no free entry for a new call site, counts the fault as lost
// and returns NULL.
cs_guard_record *cs_guard_count(const cs_guard_site *site, uint64_t *ret_count);
void cs_guard_describe(cs_guard_record *record, const cs_guard_details *details);
// Returns the number of faults that were dropped because the table was full.
uint64_t cs_guard_lost(void);

// Takes the occurrences of a record that are not yet published in the ring. Returns their number, and the incident with
// which to publish them. If the number is above 0, the caller must publish the occurrences or return them with
// cs_guard_give_back().
uint64_t cs_guard_take_unpublished(cs_guard_record *record, const cs_ring_incident **ret_incident);
void cs_guard_give_back(cs_guard_record *record, uint64_t times);

// Returns the record at an index of the table, below CS_GUARD_SITES. Returns NULL if the entry is free or not yet
// described.
cs_guard_record *cs_guard_at(uint32_t place);
void cs_guard_read(const cs_guard_record *record, cs_guard_copy *ret_copy);

// Marks that this thread runs a fault callback. Returns false if the thread already runs a fault callback, because a
// fault inside the callback must not call the callback again.
bool cs_guard_enter_observer(void);
void cs_guard_leave_observer(void);

// Returns the innermost dispatch queue whose guarded work this thread runs, as cs_guard_set_entered stored it, or NULL
// if there is none.
const void *cs_guard_entered(void);
void cs_guard_set_entered(const void *entered);

// Returns the ID of the Swift task that runs on this thread. Returns 0 if there is no task, or if the runtime does not
// provide IDs.
uint64_t cs_guard_task(void);

// Returns whether the Swift runtime supports cs_guard_is_current_executor.
bool cs_guard_has_executor_query(void);
// Returns whether the runtime reports this executor as the current one of this thread. The two arguments are the two
// words of Swift's UnownedSerialExecutor.
bool cs_guard_is_current_executor(uintptr_t identity, uintptr_t implementation);

#endif
