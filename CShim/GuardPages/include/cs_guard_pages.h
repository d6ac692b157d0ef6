// Guard pages: sampled objects of chosen classes get a page of their own from malloc. The page becomes inaccessible
// when the program frees the object. The processor then detects accesses to the freed object. It also detects accesses
// past the end of a live object.
//
// Any thread may call these functions, but a signal handler may not. This library defines malloc and related functions
// (interpose.c), which forward to the program's allocator.
#ifndef CS_GUARD_PAGES_H
#define CS_GUARD_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"

#define CS_PAGES_SLOT_LIMIT     4096 // with pages of 4 KiB: 16 MiB of slots, and 16 MiB of guard pages without memory
#define CS_PAGES_CLASS_LIMIT    256  // maximum number of classes over the life of the process
#define CS_PAGES_OBJECT_LIMIT   4080 // maximum size of an object
#define CS_PAGES_INCIDENT_LIMIT 64   // maximum number of different incidents that the process can query

typedef enum cs_pages_error : uint32_t {
  CS_PAGES_OK = 0,
  CS_PAGES_UNAVAILABLE = 1, // cs_pages_unavailable returns the reason
  CS_PAGES_TOO_LARGE = 2,   // objects above CS_PAGES_OBJECT_LIMIT, or aligned to more than 16 bytes
  CS_PAGES_FULL = 3,        // CS_PAGES_CLASS_LIMIT is reached
  CS_PAGES_NO_MEMORY = 4,
} __attribute__((enum_extensibility(open))) cs_pages_error;

// Returns the reason why this process cannot sample allocations, or an empty string if it can. The result can change
// from call to call.
const char *cs_pages_unavailable(void);

// Samples the objects of a class: objects of `bytes` bytes whose first word is `metadata`. If `name` is too long, only
// its end is stored. The first call maps the slots. A second call for the same class changes its policy.
cs_pages_error cs_pages_list(const void *metadata, uint32_t bytes, uint32_t alignment, const char *name,
                             uint32_t name_bytes, cs_mode policy);
// Stops sampling the class. Returns false if the class was not listed. Live objects stay in their slots.
bool cs_pages_unlist(const void *metadata);

// Sets the number of slots (pages for one object each), and the sample rate: one in `one_in` allocations whose size is
// that of a listed class. If the number of slots is reduced, the memory of the removed slots returns to the system at
// once, except the memory of live objects.
void cs_pages_configure(uint32_t slots, uint32_t one_in);

typedef struct cs_pages_counts {
  uint32_t slots; // the configured maximum
  uint32_t one_in;
  uint64_t allocated; // allocations that got a slot
  uint64_t guarded;   // objects of listed classes whose pages became inaccessible at their deallocation
  uint64_t others;    // freed allocations that had a slot, but were not objects of listed classes
  uint64_t no_slot;   // sampled allocations that found no free slot
  uint64_t no_page;   // allocations or frees for which the system refused to change the page's protection
  uint64_t unarmed;   // freed objects that were not guarded, because SIGSEGV had another handler than the shield's
  uint64_t incidents;
  uint64_t opened; // pages of slots, and guard pages, that were made accessible after an invalid access
} cs_pages_counts;

void cs_pages_count(cs_pages_counts *ret_counts);

// Copies the incident at an index. Returns false if the index is past the last incident. crashd reads the same
// incidents from the ring, the memory that the process shares with it.
bool cs_pages_incident_at(uint32_t index, cs_ring_incident *ret_incident);
uint64_t cs_pages_incidents_lost(void);

#endif
