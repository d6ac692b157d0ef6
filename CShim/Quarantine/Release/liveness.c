// Answers the program's queries about an address: whether a live object, an object in quarantine or a freed object is
// there.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "../Machine/clock.h"
#include "../Runtime/safe_access.h"
#include "../Stacks/stacks.h"
#include "../Table/classes.h"
#include "../Table/freed_objects.h"
#include "../Table/places.h"
#include "reaper.h"

static bool is_live(const void *pointer, const void **ret_metadata) {
  uint64_t words[2] = {0};
  if ((uintptr_t)pointer % 8 != 0 || !cs_read_at(pointer, words, sizeof words)) return false;
  const cs_metadata *const metadata = (const cs_metadata *)(uintptr_t)words[0];
  if (!cs_metadata_is_readable_class(metadata) || cs_is_zombie(metadata)) return false;
  uint64_t counts = words[1];
  if ((counts & CS_COUNTS_IMMORTAL) != CS_COUNTS_IMMORTAL && (counts & CS_COUNTS_SIDE_TABLE) == CS_COUNTS_SIDE_TABLE) {
    uint64_t side[3] = {0};
    const void *const table = (const void *)(uintptr_t)((counts & ~CS_COUNTS_SIDE_TABLE) << 3);
    if (!cs_read_at(table, side, sizeof side) || side[0] != (uintptr_t)pointer) return false;
    counts = side[2];
  }
  if ((counts & CS_COUNTS_DEINITING) != 0 || cs_counts_unowned(counts) == 0) return false;
  *ret_metadata = metadata;
  return true;
}

static bool is_held(const void *pointer, cs_quarantine_liveness *ret_liveness) {
  uint64_t word = 0;
  if ((uintptr_t)pointer % 8 != 0 || !cs_read_at(pointer, &word, sizeof word)) return false;
  const cs_metadata *const metadata = (const cs_metadata *)(uintptr_t)word;
  if (!cs_is_zombie(metadata)) return false;
  const cs_class *const class = cs_class_of_zombie(metadata);
  cs_slot slot;
  if (!cs_table_find(class, pointer, &slot) && !cs_reaper_find(pointer, &slot)) return false;
  ret_liveness->state = CS_QUARANTINE_HELD;
  ret_liveness->metadata = class->metadata;
  ret_liveness->id = cs_label_number(slot.label);
  ret_liveness->age_ns = cs_ticks_ns(cs_ticks() - slot.ticks);
  cs_stack_read(slot.stack, &ret_liveness->free);
  ret_liveness->free.thread = slot.thread;
  return true;
}

void cs_quarantine_ask(const void *pointer, cs_quarantine_liveness *ret_liveness) {
  *ret_liveness = (cs_quarantine_liveness){0};
  if (pointer == NULL || is_held(pointer, ret_liveness)) return;
  const void *metadata = NULL;
  if (is_live(pointer, &metadata)) {
    ret_liveness->state = CS_QUARANTINE_LIVE;
    ret_liveness->metadata = metadata;
    return;
  }
  cs_freed_object_find(pointer, ret_liveness);
}

#endif
