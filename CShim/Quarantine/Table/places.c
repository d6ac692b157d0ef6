#include "cs_platform.h"

#if CS_SUPPORTED

#include "places.h"

#include "../Machine/atomics.h"

#define FIND_ROUNDS 1000
#define PAST_ROUNDS 8

_Atomic uint64_t cs_budget = 1 << 20;
_Atomic int64_t cs_budget_left = 1 << 20;
const uint64_t cs_slot_marks[2][2];

// Finds the record of the object in the slots of a class; if `is_past` is true, the latest freed-object record of the
// object.
static bool find(const cs_class *class, const cs_object *object, bool is_past, cs_slot *ret_slot) {
  const cs_slot *const end = cs_slots_end(class);
  // Repeats the search if another thread was changing a slot. For a freed object, there are fewer repetitions, because
  // the caller searches every class.
  for (uint32_t round = 0; round < (is_past ? PAST_ROUNDS : FIND_ROUNDS); round++) {
    bool is_busy = false, is_found = false;
    for (cs_slot *slot = cs_slots_begin(class); slot < end; slot++) {
      cs_slot candidate;
      const int found = cs_slot_read(slot, object, is_past, &candidate);
      if (found < 0) is_busy = true;
      if (found <= 0 || (is_found && candidate.ticks <= ret_slot->ticks)) continue;
      *ret_slot = candidate;
      is_found = true;
      // An object in quarantine is in only one slot, so the search ends when the slot is found.
      if (!is_past) return true;
    }
    if (is_found) return true;
    if (!is_busy) return false;
    cs_pause();
  }
  return false;
}

bool cs_table_find(const cs_class *class, const cs_object *object, cs_slot *ret_slot) {
  return find(class, object, false, ret_slot);
}

bool cs_table_find_past(const cs_class *class, const cs_object *object, cs_slot *ret_slot) {
  return find(class, object, true, ret_slot);
}

#endif
