// Quarantines deallocated objects of listed classes, and records accesses to them (use-after-free). An object in
// quarantine keeps its memory until it is evicted, in most cases because a later object takes its place.
//
// Any thread may call these functions. A signal handler may call only the functions whose comments allow it.
#ifndef CS_QUARANTINE_H
#define CS_QUARANTINE_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"
#include "cs_signal_safe.h"

#define CS_QUARANTINE_FRAMES    16   // the maximum number of frames of a stack
#define CS_QUARANTINE_CLASSES   2048 // maximum number of classes over the life of the process
#define CS_QUARANTINE_LIMIT_MAX 4096 // the maximum number of objects of one class in quarantine, without the explorer
#define CS_QUARANTINE_HITS      256  // maximum number of different incidents

typedef enum cs_quarantine_error : uint32_t {
  CS_QUARANTINE_OK = 0,
  CS_QUARANTINE_UNAVAILABLE = 1, // cs_quarantine_unavailable returns the reason
  CS_QUARANTINE_NOT_A_CLASS = 2, // not the metadata of a native Swift class
  CS_QUARANTINE_FULL = 4,        // CS_QUARANTINE_CLASSES is reached
  CS_QUARANTINE_READ_ONLY = 5,   // the metadata cannot be written
  CS_QUARANTINE_NO_MEMORY = 6,
} __attribute__((enum_extensibility(open))) cs_quarantine_error;

typedef enum cs_quarantine_kind : uint32_t {
  CS_QUARANTINE_CALL = 1,         // a call of a virtual method of a deallocated object
  CS_QUARANTINE_ASYNC_CALL = 2,   // a call of a virtual async method of a deallocated object
  CS_QUARANTINE_OVER_RELEASE = 3, // a release of an object that had no references any more
  CS_QUARANTINE_DRIFT = 4,        // detected at eviction: the object had more retains than releases
  CS_QUARANTINE_WRITE = 5,        // detected at eviction: a field of the object was written
} __attribute__((enum_extensibility(open))) cs_quarantine_kind;

// Checks whether Swift's metadata and reference counts have the expected layout in the runtime of this process. `probe`
// is the metadata of a final class whose objects have a size of `probe_size` bytes. `instance` is a new object of this
// class. Only the first call makes the check. Later calls return its result.
bool cs_quarantine_check(const void *probe, const void *instance, uint64_t probe_size);
// Returns the reason why the quarantine cannot be used, or an empty string if it can.
const char *cs_quarantine_unavailable(void);

// Lists a class: its objects then go to the quarantine at their last release. Under the policy CS_MODE_ABSORB, the
// deinit runs at eviction, and the object stays intact until then. Under CS_MODE_ZERO and CS_MODE_DIAGNOSE, the deinit
// runs at the last release. After the deinit, the fields are filled with empty values (CS_MODE_ZERO), or with a label
// that identifies the record of the last release (CS_MODE_DIAGNOSE). `limit` is the maximum number of the class's
// objects in quarantine. The explorer (turn.h) keeps up to a fifth more.
cs_quarantine_error cs_quarantine_list(const void *metadata, cs_mode policy, uint32_t limit);
// Unlists a class. The objects of the class leave the quarantine. Other objects of the class are deallocated as usual
// at their last release. Returns false if the class was not listed.
bool cs_quarantine_unlist(const void *metadata);
// Sets the budget in bytes for the objects in quarantine of all classes, and for their slots.
void cs_quarantine_set_budget(uint64_t bytes);
// Sets whether each last release records its stack. The default is true.
void cs_quarantine_set_stacks(bool is_on);
// Evicts all objects of all classes from the quarantine. Returns after the last deinit has ended. Precondition: the
// caller is not the deinit of a listed class.
void cs_quarantine_drain(void);

// The types of the functions cs_shim_incident and cs_shim_class, which receive incidents and counters. They are passed
// as pointers, because this library is not linked to them.
typedef void cs_quarantine_incident_sink(const cs_ring_incident *incident) SIGNAL_SAFE;
typedef cs_ring_class *cs_quarantine_class_sink(const cs_ring_class *class);
// Sets the callbacks, and publishes the classes that are already listed. A class for which an earlier callback has
// returned counters is not passed to the new callback.
void cs_quarantine_show(cs_quarantine_incident_sink *incidents, cs_quarantine_class_sink *classes);

// Publishes, as incidents, which objects in quarantine and which freed objects the registers of a crash point to: their
// classes, policies, ages and last releases. Signal safety: the crash handler calls this function before the record is
// complete.
void cs_quarantine_crashed(const cs_ring_record *record) SIGNAL_SAFE;

// The counters of one class since it was first listed.
typedef struct cs_quarantine_counts {
  const void *metadata;
  cs_mode policy;
  uint32_t limit;
  uint32_t is_listed;
  uint32_t instance_bytes;
  uint32_t hooked_methods;   // vtable words that were replaced by a stub
  uint32_t unhooked_methods; // vtable words whose descriptors have an unknown form, so they were not replaced
  uint64_t admitted;
  uint64_t evicted;
  uint64_t hits;
  uint64_t skipped_budget;   // the budget was used up, and no object could be evicted from the class's slots
  uint64_t skipped_busy;     // no slot could be locked, or the reaper's queue was full
  uint64_t skipped_unowned;  // the object had unowned references or was on the stack
  uint64_t skipped_isolated; // the deinit had not finished when the destroy function returned, for example because it
                             // continues on an actor
} cs_quarantine_counts;

// Copies the counters of the class at an index. Returns false if the index is past the last class.
bool cs_quarantine_class(uint32_t index, cs_quarantine_counts *ret_counts);
uint64_t cs_quarantine_bytes(void);

typedef struct cs_quarantine_stack {
  uint32_t count; // 0: unknown
  uint32_t thread;
  uint64_t frames[CS_QUARANTINE_FRAMES];
} cs_quarantine_stack;

// Returns the stack of the caller.
void cs_quarantine_here(cs_quarantine_stack *ret_stack);
// Returns the return address of the caller, which is an address in the caller's caller. Returns 0 if the caller does
// not run on its thread's own stack, but for example on a fiber's.
uint64_t cs_quarantine_caller(void);
// Returns the address range of this thread's own stack. The range is empty if it is unknown.
void cs_quarantine_stack_bounds(uintptr_t *ret_start, uintptr_t *ret_end);
// Publishes that the program used the handle of a C callback after the handle's object was deallocated. `name` is the
// name of the object's class: `bytes` bytes of UTF-8.
void cs_quarantine_missed(const char *name, uint64_t bytes, const cs_quarantine_stack *use);

// A use-after-free incident. The class, the kind, the method and the access stack are the same for all `count`
// accesses. The other fields describe the first access.
typedef struct cs_quarantine_hit {
  const void *metadata;
  const void *object;
  const void *method; // the method that was called; NULL: the access was not a call
  uint64_t count;
  uint64_t age_ns; // the time from the last release of the object to the access
  int64_t drift;   // for CS_QUARANTINE_DRIFT: the number of excess retains; otherwise unused
  uint32_t id;     // the number of the record of the object's last release
  uint32_t word;   // the index of the called method's vtable word in the metadata
  cs_quarantine_kind kind;
  cs_mode policy;
  uint32_t is_explorer; // whether the object was in the explorer, the slots from which objects are evicted at random
  uint32_t has_record;  // whether the object, its age and the stack of its last release are known
  cs_quarantine_stack use;
  cs_quarantine_stack free;
} cs_quarantine_hit;

// Copies the incident at an index. Returns false if the index is past the last incident.
bool cs_quarantine_hit_at(uint32_t index, cs_quarantine_hit *ret_hit);
// The number of accesses that were dropped because the table of incidents was full. The counters of the classes include
// them.
uint64_t cs_quarantine_hits_lost(void);

// A class in an image of this process. The structure is valid only during the call of the visitor.
typedef struct cs_quarantine_type {
  const char *name;     // the full name, which begins with the class's module
  const void *metadata; // NULL: the class is generic
  bool is_in_executable;
} cs_quarantine_type;

typedef void cs_quarantine_type_visitor(const cs_quarantine_type *type, void *context);
void cs_quarantine_visit_types(cs_quarantine_type_visitor *visitor, void *context);

typedef enum cs_quarantine_state : uint32_t {
  CS_QUARANTINE_UNKNOWN = 0,
  CS_QUARANTINE_LIVE = 1,
  CS_QUARANTINE_HELD = 2,  // the object is in quarantine
  CS_QUARANTINE_FREED = 3, // the object was in quarantine, and its memory was freed
} __attribute__((enum_extensibility(open))) cs_quarantine_state;

typedef struct cs_quarantine_liveness {
  cs_quarantine_state state;
  uint32_t id;
  const void *metadata;
  uint64_t age_ns; // the time since the last release
  cs_quarantine_stack free;
} cs_quarantine_liveness;

// Returns the state of the object at an address. The address can have any value, because this function reads the memory
// with a system call.
void cs_quarantine_ask(const void *pointer, cs_quarantine_liveness *ret_liveness);

#endif
