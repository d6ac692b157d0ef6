// Two tables of the ring: the incidents of a process (non-fatal events), and the classes that the quarantine protects.
// The quarantine keeps deallocated objects for some time, in order to detect accesses to them. Guard pages detect
// accesses to freed objects and past the end of objects. Guards check operations that could trap.
#ifndef CS_RING_INCIDENT_H
#define CS_RING_INCIDENT_H

#include <stdint.h>

#include "cs_ring_limits.h"

// The component of the shield that recorded an incident.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_incident_source : uint32_t {
  CS_RING_INCIDENT_QUARANTINE = 1, // a use-after-free of a quarantined object
  CS_RING_INCIDENT_GUARD = 2,      // a fault that a guard detected
  CS_RING_INCIDENT_PAGES = 3,      // an invalid access to the guard page slot of an object
  CS_RING_INCIDENT_CONTAINED = 4,  // a contained trap
} cs_ring_incident_source;

// The access kind of a use-after-free. The access kind is in cs_ring_incident.kind if the source is the quarantine.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_dangling : uint32_t {
  CS_RING_DANGLING_CALL = 1,         // a call of a virtual method
  CS_RING_DANGLING_ASYNC_CALL = 2,   // a call of a virtual async method
  CS_RING_DANGLING_OVER_RELEASE = 3, // a release of an object that had no references any more
  CS_RING_DANGLING_DRIFT = 4,        // after the last release, the object got `amount` more retains than releases
  CS_RING_DANGLING_WRITE = 5,        // a field of the object was written
  CS_RING_DANGLING_HANDLE = 6,       // the handle of a C callback was used after its object was deallocated
  // At a crash, a register contained the address of an object that had left the quarantine. The mode is CS_MODE_CRASH,
  // and `amount` is the sequence number of the crash record. Such an address does not prove a use-after-free, because
  // its memory can have been allocated again.
  CS_RING_DANGLING_FREED = 7,
  // At a crash, a register contained the address of an object in quarantine. The mode is the policy of the object's
  // class, and `amount` is the sequence number of the crash record. The crash may be due to an access that the
  // quarantine does not detect: a direct call, or an access to a field.
  CS_RING_DANGLING_HELD = 8,
} cs_ring_dangling;

// The kind of an invalid access to a guard page slot. The kind is in cs_ring_incident.kind if the source is the guard
// pages. `amount` is the offset of the access from the start of the object.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_pages : uint32_t {
  CS_RING_PAGES_READ = 1,         // a read after the object was freed
  CS_RING_PAGES_WRITE = 2,        // a write after the object was freed
  CS_RING_PAGES_DOUBLE_FREE = 3,  // the object was freed again
  CS_RING_PAGES_INVALID_FREE = 4, // the freed address is inside an object or was never allocated
  CS_RING_PAGES_OVERFLOW = 5,     // an access past the end of the object
  CS_RING_PAGES_UNDERFLOW = 6,    // an access before the start of the object
  CS_RING_PAGES_TRAMPLED = 7,     // bytes next to the object were overwritten; detected when it was freed
} cs_ring_pages;

// The kind of a contained trap. The kind is in cs_ring_incident.kind if the source is contained work. The incident's
// subject is the runtime error message.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_contained : uint32_t {
  CS_RING_CONTAINED_TRAP = 1,    // in isolated work; each trap has its own key, so each trap has its own entry
  CS_RING_CONTAINED_REQUEST = 2, // in a contained request; `amount` is the number of the request
} cs_ring_contained;

// What happens at an incident. Each component of the shield supports only some of the modes. The quarantine supports
// ABSORB, ZERO and DIAGNOSE. Guard pages support ABSORB and CRASH. Guards support OFF, OBSERVE and ABSORB. The ring
// stores the numbers of this type. With OFF, no incident is recorded in the ring. Control messages use other numbers
// (cs_control_guard).
typedef enum __attribute__((enum_extensibility(open))) cs_mode : uint32_t {
  CS_MODE_ABSORB = 0,   // the program continues, with the object intact or with the guard's fallback value
  CS_MODE_ZERO = 1,     // the deinit has run and the fields are empty; virtual calls return zero
  CS_MODE_DIAGNOSE = 2, // the deinit has run, and the fields contain a poison value with the record number
  CS_MODE_OBSERVE = 3,  // the incident is recorded, and the program continues as without the shield
  CS_MODE_CRASH = 4,    // the incident ends the process; `method` is the faulting address of the crash
  CS_MODE_OFF = 5,      // the program continues as without the shield, and nothing is recorded
} cs_mode;

// The bits of cs_ring_incident.flags.
#define CS_RING_INCIDENT_RECORD   1u // the address, the number, the age and the stack of the last release are known
#define CS_RING_INCIDENT_EXPLORER 2u // the object was in the explorer, from which objects are evicted at random
#define CS_RING_INCIDENT_EXACT    4u // use[0] is the address of an instruction, not a return address
// The incident is a trap. `detail.trap` is valid, and `address` contains the flags register. TRAP is never set together
// with RECORD.
#define CS_RING_INCIDENT_TRAP 8u

#pragma clang diagnostic push
#pragma clang diagnostic error "-Wpadded"

// The stacks of an object's last release and of its allocation: return addresses, beginning with the innermost one.
typedef struct cs_ring_object_stacks {
  uint64_t free[CS_RING_INCIDENT_FRAME_LIMIT];
  uint64_t origin[CS_RING_INCIDENT_FRAME_LIMIT];
} cs_ring_object_stacks;

// The data of a trap in contained work. A trap has no object.
typedef struct cs_ring_trap {
  uint64_t registers[CS_RING_INCIDENT_FRAME_LIMIT]; // general registers by DWARF number, without the pc; as many as fit
  uint64_t frames[CS_RING_INCIDENT_FRAME_LIMIT];    // the frames that follow the frames in `use`
} cs_ring_trap;

typedef union cs_ring_incident_detail {
  cs_ring_object_stacks object;
  cs_ring_trap trap; // valid with CS_RING_INCIDENT_TRAP
} cs_ring_incident_detail;

// An incident. Incidents with the same source, kind, subject and access stack share one entry. The other fields
// describe the first of these incidents and are written once. Only the atomic fields `count` and `last_ns` change
// later.
typedef struct cs_ring_incident {
  uint64_t key;      // 0: the entry was never used
  uint64_t sequence; // 1: the entry is complete
  uint64_t count;
  uint64_t first_ns; // CLOCK_REALTIME
  uint64_t last_ns;
  uint64_t address; // the address of the object
  uint64_t method;  // the called method, or the address of the access to a guard page slot; 0: none
  uint64_t age_ns;  // the time between the last release of the object and this access
  int64_t amount;
  uint32_t source; // cs_ring_incident_source
  uint32_t kind;   // an enum that depends on the source, such as cs_ring_dangling
  uint32_t mode;   // cs_mode
  uint32_t flags;
  uint32_t id;   // quarantine: the record number of the object's last release; guard pages: the slot's generation
  uint32_t word; // index of the called method's word in the vtable
  int32_t use_tid;
  int32_t free_tid;
  uint32_t use_count;
  uint32_t free_count; // number of elements in detail.object.free or detail.trap.registers
  uint32_t subject_bytes;
  uint32_t origin_count;                        // number of elements in detail.object.origin or detail.trap.frames
  uint8_t subject[CS_RING_SUBJECT_LIMIT_BYTES]; // the name of the class, or the message of the guard
  // The access stack: return addresses, beginning with the innermost one. The entry of an async caller is the address
  // at which the caller resumes, plus 1. This address is the first instruction of a function.
  uint64_t use[CS_RING_INCIDENT_FRAME_LIMIT];
  cs_ring_incident_detail detail;
  int32_t origin_tid;
  uint32_t object_bytes; // the object's size; 0: unknown
} cs_ring_incident;

// A class that is or was protected. The counters are atomic.
typedef struct cs_ring_class {
  uint64_t admitted;
  uint64_t evicted; // number of evicted objects, each of which left a freed-object record
  uint64_t hits;
  uint64_t skipped_budget;
  uint64_t skipped_busy;
  uint64_t skipped_unowned;
  uint64_t skipped_isolated;
  uint32_t policy; // cs_mode
  uint32_t limit;
  uint32_t is_listed;
  uint32_t instance_bytes;
  uint32_t name_bytes;
  uint32_t reserved;
  uint8_t name[CS_RING_SUBJECT_LIMIT_BYTES];
  uint8_t reserved2[48];
} cs_ring_class;

#pragma clang diagnostic pop

#endif
