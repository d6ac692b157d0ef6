#include "cs_platform.h"

#if CS_SUPPORTED

#include "classes.h"

cs_class *cs_classes[CS_QUARANTINE_CLASSES];
static _Atomic uint32_t count;
static _Atomic uint32_t is_forked;

uint32_t cs_class_count(void) SIGNAL_SAFE {
  return atomic_load_explicit(&count, memory_order_acquire);
}

cs_class *cs_class_of_metadata(const void *metadata) {
  for (uint32_t index = 0; index < cs_class_count(); index++) {
    if (cs_classes[index]->metadata == metadata) return cs_classes[index];
  }
  return NULL;
}

bool cs_is_zombie(const void *metadata) {
  for (uint32_t index = 0; index < cs_class_count(); index++) {
    if (cs_classes[index]->zombie == metadata) return true;
  }
  return false;
}

bool cs_quarantine_is_forked(void) {
  return atomic_load_explicit(&is_forked, memory_order_relaxed) != 0;
}

// Marks this process as a forked child. In a forked child, slots that other threads had locked at the fork stay locked,
// and the reaper's work can be half finished. From now on, objects are therefore deallocated as usual, and objects in
// quarantine stay there.
void cs_classes_forget(void) {
  if (cs_class_count() == 0) return;
  atomic_store(&is_forked, 1);
  for (uint32_t index = 0; index < cs_class_count(); index++) {
    atomic_store(&cs_classes[index]->is_listed, 0);
    cs_class_close(cs_classes[index]);
  }
  // The counters in the ring belong to the parent, so the child uses its own.
  for (uint32_t index = 0; index < cs_class_count(); index++)
    atomic_store(&cs_classes[index]->counts, &cs_classes[index]->own);
}

void cs_classes_add(cs_class *class) {
  cs_classes[class->index] = class;
  // release: pairs with the acquire load in cs_class_count().
  atomic_store_explicit(&count, class->index + 1, memory_order_release);
}

void cs_class_close(cs_class *class) {
  // Ordering: seq_cst, pairs with set_full() in turn.c.
  atomic_store(&class->full, 0);
  atomic_store(&class->bound, 0);
}

#endif
