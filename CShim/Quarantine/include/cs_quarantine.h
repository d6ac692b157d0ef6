// Quarantines deallocated objects of listed classes, and records accesses to them.
//
// Any thread; not from a signal handler, unless a comment says otherwise.
#ifndef CS_QUARANTINE_H
#define CS_QUARANTINE_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"
#include "cs_signal_safe.h"

#define CS_QUARANTINE_FRAMES    16   // of a stack
#define CS_QUARANTINE_CLASSES   2048 // listed at one time or another
#define CS_QUARANTINE_LIMIT_MAX 4096 // instances of one class in its queue
#define CS_QUARANTINE_HITS      256  // different incidents

typedef enum cs_quarantine_error : uint32_t {
  CS_QUARANTINE_OK = 0,
  CS_QUARANTINE_UNAVAILABLE = 1, // cs_quarantine_unavailable says why
  CS_QUARANTINE_NOT_A_CLASS = 2, // no native Swift class metadata
  CS_QUARANTINE_FULL = 4,        // CS_QUARANTINE_CLASSES
  CS_QUARANTINE_READ_ONLY = 5,   // the metadata cannot be written
  CS_QUARANTINE_NO_MEMORY = 6,
} __attribute__((enum_extensibility(open))) cs_quarantine_error;

typedef enum cs_quarantine_kind : uint32_t {
  CS_QUARANTINE_CALL = 1,         // a virtual method
  CS_QUARANTINE_ASYNC_CALL = 2,   // a virtual async method
  CS_QUARANTINE_OVER_RELEASE = 3, // a release without a reference to give back
  CS_QUARANTINE_DRIFT = 4,        // found at eviction: retained more often than released since
  CS_QUARANTINE_WRITE = 5,        // found at eviction: a field was written
} __attribute__((enum_extensibility(open))) cs_quarantine_kind;

// Checks the layout of Swift's metadata and reference counts against the runtime of this process. `probe` is class
// metadata of a final class `probe_size` bytes large, `instance` a fresh object of it. Idempotent.
bool cs_quarantine_check(const void *probe, const void *instance, uint64_t probe_size);
// The reason why the quarantine is off, or an empty string.
const char *cs_quarantine_unavailable(void);

// Under CS_MODE_ABSORB the deinit runs at eviction, and the object stays intact until then; under CS_MODE_ZERO and
// CS_MODE_DIAGNOSE it runs at once, and the fields are filled with the empty value, or with the record's label.
cs_quarantine_error cs_quarantine_list(const void *metadata, cs_mode policy, uint32_t limit);
// Unlists a class: its objects leave the quarantine, and later ones are deallocated as usual. Returns false if it was
// not listed.
bool cs_quarantine_unlist(const void *metadata);
// Sets the budget for objects and their records, of all classes together.
void cs_quarantine_set_budget(uint64_t bytes);
// Sets whether each dealloc records a stack (the default).
void cs_quarantine_set_stacks(bool is_on);
// Evicts everything and returns after the last deinit. Precondition: not called from a deinit of a listed class.
void cs_quarantine_drain(void);

// The callbacks that publish incidents and counters: cs_shim_incident and cs_shim_class, which this code does not link.
typedef void cs_quarantine_incident_sink(const cs_ring_incident *incident) SIGNAL_SAFE;
typedef cs_ring_class *cs_quarantine_class_sink(const cs_ring_class *class);
// Publishes from now on, also for classes that are listed already. Idempotent.
void cs_quarantine_show(cs_quarantine_incident_sink *incidents, cs_quarantine_class_sink *classes);

// Publishes the freed objects that the registers of a crash point at, in quarantine or evicted: class, policy, age and
// last release. For signal handlers, before they commit the record.
void cs_quarantine_crashed(const cs_ring_record *record) SIGNAL_SAFE;

// The counters of one class since it was first listed.
typedef struct cs_quarantine_counts {
  const void *metadata;
  cs_mode policy;
  uint32_t limit;
  uint32_t is_listed;
  uint32_t instance_bytes;
  uint32_t hooked_methods;   // vtable words that lead to a stub
  uint32_t unhooked_methods; // words that the descriptors do not explain well enough
  uint64_t admitted;
  uint64_t evicted;
  uint64_t hits;
  uint64_t skipped_budget;   // no byte was left, and no older object of the class to replace
  uint64_t skipped_busy;     // no slot could be claimed, or the reaper was behind
  uint64_t skipped_unowned;  // on the stack, or perhaps
  uint64_t skipped_isolated; // its deinit runs on an actor, later
} cs_quarantine_counts;

// Copies the class at an index, from 0 on. Returns false past the last one.
bool cs_quarantine_class(uint32_t index, cs_quarantine_counts *ret_counts);
uint64_t cs_quarantine_bytes(void);

typedef struct cs_quarantine_stack {
  uint32_t count; // 0: not known
  uint32_t thread;
  uint64_t frames[CS_QUARANTINE_FRAMES];
} cs_quarantine_stack;

// The stack of the caller.
void cs_quarantine_here(cs_quarantine_stack *ret_stack);
// The return address of the caller's caller, by the caller's frame pointer; 0 on a foreign stack.
uint64_t cs_quarantine_caller(void);
// The address range of frames on this thread's own stack; empty if it is unknown.
void cs_quarantine_stack_bounds(uintptr_t *ret_start, uintptr_t *ret_end);
// Publishes the resolution of a handle whose object of this class was deallocated. `name` is `bytes` of UTF-8.
void cs_quarantine_missed(const char *name, uint64_t bytes, const cs_quarantine_stack *use);

// A use-after-free incident: class, kind, method and access stack are equal for all `count` accesses; the rest is of
// the first one.
typedef struct cs_quarantine_hit {
  const void *metadata;
  const void *object;
  const void *method; // the code that the call would have reached; NULL: none
  uint64_t count;
  uint64_t age_ns; // between the last release and this use
  int64_t drift;   // CS_QUARANTINE_DRIFT: retains without a release; CS_QUARANTINE_WRITE: unused
  uint32_t id;     // of the object's record
  uint32_t word;   // of the vtable
  cs_quarantine_kind kind;
  cs_mode policy;
  uint32_t is_explorer; // from the randomly evicted part
  uint32_t has_record;  // whether object, age and free stack are known
  cs_quarantine_stack use;
  cs_quarantine_stack free;
} cs_quarantine_hit;

// Copies the incident at an index, from 0 on. Returns false past the last one.
bool cs_quarantine_hit_at(uint32_t index, cs_quarantine_hit *ret_hit);
// The number of incidents dropped because the table was full. Their class still counts them.
uint64_t cs_quarantine_hits_lost(void);

// A class of an image of this process. Valid during the call of the visitor.
typedef struct cs_quarantine_type {
  const char *name;     // with its module
  const void *metadata; // NULL: generic
  bool is_in_executable;
} cs_quarantine_type;

typedef void cs_quarantine_type_visitor(const cs_quarantine_type *type, void *context);
void cs_quarantine_visit_types(cs_quarantine_type_visitor *visitor, void *context);

typedef enum cs_quarantine_state : uint32_t {
  CS_QUARANTINE_UNKNOWN = 0,
  CS_QUARANTINE_LIVE = 1,
  CS_QUARANTINE_HELD = 2,  // in quarantine
  CS_QUARANTINE_FREED = 3, // was in quarantine, its memory has gone since
} __attribute__((enum_extensibility(open))) cs_quarantine_state;

typedef struct cs_quarantine_liveness {
  cs_quarantine_state state;
  uint32_t id;
  const void *metadata;
  uint64_t age_ns; // since the last release
  cs_quarantine_stack free;
} cs_quarantine_liveness;

// The state of an address, which may be any value: only a system call reads it.
void cs_quarantine_ask(const void *pointer, cs_quarantine_liveness *ret_liveness);

#endif
