// Guard pages: sampled objects of chosen classes get a page of their own from malloc, which is inaccessible once they
// are freed. The processor detects accesses to it, and past the object.
//
// Any thread, but not from a signal handler. This library defines malloc and its kin (interpose_x86_64.c), which
// forward to the program's allocator.
#ifndef CS_GUARD_PAGES_H
#define CS_GUARD_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"

#define CS_PAGES_SLOT_LIMIT     4096 // 16 MiB, and as much again of addresses without memory
#define CS_PAGES_CLASS_LIMIT    256  // chosen at one time or another
#define CS_PAGES_OBJECT_LIMIT   4080 // bytes of an object
#define CS_PAGES_INCIDENT_LIMIT 64   // different ones that the process itself keeps

typedef enum cs_pages_error : uint32_t {
  CS_PAGES_OK = 0,
  CS_PAGES_UNAVAILABLE = 1, // cs_pages_unavailable says why
  CS_PAGES_TOO_LARGE = 2,   // objects of more than CS_PAGES_OBJECT_LIMIT, or aligned to more than 16 bytes
  CS_PAGES_FULL = 3,        // CS_PAGES_CLASS_LIMIT
  CS_PAGES_NO_MEMORY = 4,
} __attribute__((enum_extensibility(open))) cs_pages_error;

// The reason why this process allocates no slots; an empty string if it does. Evaluated at each call.
const char *cs_pages_unavailable(void);

// Samples objects of `bytes` bytes whose first word is `metadata`; `name` is cut to fit. The first call maps the slots.
// A second call changes the policy.
cs_pages_error cs_pages_list(const void *metadata, uint32_t bytes, uint32_t alignment, const char *name,
                             uint32_t name_bytes, cs_mode policy);
// Returns false if the class was not listed. Slots that hold its objects stay.
bool cs_pages_unlist(const void *metadata);

// Sets the number of slots, and the sample rate of allocations of a listed size. Fewer slots return memory at once,
// except that of live objects.
void cs_pages_configure(uint32_t slots, uint32_t one_in);

typedef struct cs_pages_counts {
  uint32_t slots; // that there may be
  uint32_t one_in;
  uint64_t allocated; // allocations that got a slot
  uint64_t guarded;   // objects of listed classes whose page was closed when they were freed
  uint64_t others;    // allocations in slots that were no objects of listed classes
  uint64_t no_slot;   // drawn, but none was free
  uint64_t no_page;   // drawn or freed, but the system refused to change a page's protection
  uint64_t unarmed;   // freed while another handler had SIGSEGV, so not guarded
  uint64_t incidents;
  uint64_t opened; // slots that were opened again, and are not used any more
} cs_pages_counts;

void cs_pages_count(cs_pages_counts *ret_counts);

// Copies the incident at an index, from 0 on. Returns false past the last one. The ring has the same incidents.
bool cs_pages_incident_at(uint32_t index, cs_ring_incident *ret_incident);
uint64_t cs_pages_incidents_lost(void);

#endif
