// Use-after-free incidents. hits.c counts them by kind, class, method and call stack. publish.c passes them to a
// callback, which the start of the shield sets.
#ifndef CS_QUARANTINE_INCIDENTS_H
#define CS_QUARANTINE_INCIDENTS_H

#include "../Table/class.h"

#pragma GCC visibility push(hidden)

// A use-after-free access: an access to an object in quarantine.
typedef struct cs_use {
  cs_class *class;
  const cs_object *object;
  const cs_slot *slot; // NULL: not known
  const void *method;
  const void *frame;
  uint64_t context; // the AsyncContext of an async call; 0: the access is not an async call
  uint32_t word;
  cs_quarantine_kind kind;
  int64_t drift;
} cs_use;

void cs_hit(const cs_use *use);

extern cs_quarantine_incident_sink *_Atomic cs_incident_sink; // NULL: not set

// Precondition of both functions: the caller holds the lock of the class table (class_table.c).
void cs_publish_to(cs_quarantine_incident_sink *incidents, cs_quarantine_class_sink *classes);
void cs_publish_class(cs_class *class);

void cs_publish_use(const cs_use *use, uint32_t use_stack);

#pragma GCC visibility pop

#endif
