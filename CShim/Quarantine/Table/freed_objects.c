#include "cs_platform.h"

#if CS_SUPPORTED

#include "freed_objects.h"

#include "../Machine/atomics.h"
#include "../Machine/clock.h"
#include "../Stacks/stacks.h"
#include "classes.h"
#include "places.h"

#define RECORD_SHARE UINT64_C(1024) // bytes of the budget for each record of the table

cs_freed_object cs_freed_objects[CS_FREED_OBJECTS];
static _Atomic uint64_t next;

// Returns how many records of the table are used. If the budget is below the default, fewer records are used.
static uint64_t in_use(void) {
  const uint64_t budget = atomic_load_explicit(&cs_budget, memory_order_relaxed);
  if (budget >= CS_FREED_OBJECTS * RECORD_SHARE) return CS_FREED_OBJECTS;
  const uint64_t most = budget / (2 * RECORD_SHARE);
  return most < CS_FREED_OBJECTS / 8 ? CS_FREED_OBJECTS / 8 : most;
}

void cs_freed_object_put(const cs_slot *slot, const cs_object *object) {
  cs_freed_object *const record =
      &cs_freed_objects[atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % in_use()];
  // If the table has wrapped around, two threads can write the same record at the same time. The thread that finds it
  // locked drops its own record.
  if (atomic_exchange(&record->object, (const cs_object *)CS_SLOT_BUSY) == CS_SLOT_BUSY) return;
  // The fence orders the lock before the writes below: a reader that reads one of them also reads that the record is
  // locked (cs_freed_object_read).
  cs_store_fence();
  record->ticks = slot->ticks;
  memcpy(&record->label, &slot->label, sizeof *record - offsetof(cs_freed_object, label));
  atomic_store_explicit(&record->object, object, memory_order_release);
}

bool cs_freed_object_find(const void *object, cs_quarantine_liveness *ret_liveness) {
  cs_slot found = {0}, candidate;
  bool is_found = false;
  // Searches all classes for the latest record, because several objects can have had the same address at different
  // times.
  for (uint32_t index = 0; index < cs_class_count(); index++) {
    if (!cs_table_find_past(cs_classes[index], object, &candidate)) continue;
    if (is_found && candidate.ticks <= found.ticks) continue;
    found = candidate;
    is_found = true;
  }
  for (uint32_t index = 0; index < CS_FREED_OBJECTS; index++) {
    if (!cs_freed_object_read(&cs_freed_objects[index], object, &candidate)) continue;
    if (is_found && candidate.ticks <= found.ticks) continue;
    found = candidate;
    is_found = true;
  }
  if (!is_found) return false;
  ret_liveness->state = CS_QUARANTINE_FREED;
  ret_liveness->metadata = cs_classes[cs_number_class(cs_label_number(found.label))]->metadata;
  ret_liveness->id = cs_label_number(found.label);
  ret_liveness->age_ns = cs_ticks_ns(cs_ticks() - found.ticks);
  cs_stack_read(found.stack, &ret_liveness->free);
  ret_liveness->free.thread = found.thread;
  return true;
}

#endif
