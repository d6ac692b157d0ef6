// The table of use-after-free incidents (accesses to objects in quarantine). Accesses with the same kind, class, method
// and call stack share one entry, which counts them.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <string.h>

#include "../Machine/clock.h"
#include "../Stacks/stacks.h"
#include "../Stacks/thread.h"
#include "incidents.h"

#define PROBES 32

typedef struct entry {
  _Atomic uint64_t key; // 0: free
  _Atomic uint32_t is_ready;
  _Atomic uint64_t count;
  cs_class *class;
  uint64_t ticks; // the age of the object at the access, in ticks of the clock
  uint32_t use_stack, use_thread;
  uint32_t free_stack, free_thread;
  cs_quarantine_hit hit; // its stacks are empty; `use_stack` and `free_stack` are the numbers of the recorded stacks
} entry;

static entry entries[CS_QUARANTINE_HITS];
static _Atomic uint64_t lost;

static uint64_t key_of(const cs_use *use, uint32_t use_stack) {
  uint64_t key = (uint64_t)use->class->index << 48 | (uint64_t)use->word << 32 | use_stack;
  key = (key ^ ((uint64_t)use->kind << 60)) * UINT64_C(0x9E3779B97F4A7C15);
  return (key ^ (key >> 29)) | 1;
}

static void fill_in(entry *entry, const cs_use *use, uint32_t use_stack) {
  const cs_slot *const slot = use->slot;
  entry->class = use->class;
  entry->use_stack = use_stack;
  entry->use_thread = use->frame != NULL ? cs_thread_known()->number : 0;
  entry->hit = (cs_quarantine_hit){
      .metadata = use->class->metadata,
      .object = use->object,
      .method = use->method,
      .drift = use->drift,
      .word = use->word,
      .kind = use->kind,
      .policy = atomic_load(&use->class->policy),
  };
  if (slot == NULL) return;
  entry->ticks = cs_ticks() - slot->ticks;
  entry->free_stack = slot->stack;
  entry->free_thread = slot->thread;
  entry->hit.id = cs_label_number(slot->label);
  entry->hit.policy = cs_slot_policy(slot);
  entry->hit.is_explorer = (entry->hit.id & CS_NUMBER_EXPLORER) != 0;
  entry->hit.has_record = 1;
}

void cs_hit(const cs_use *use) {
  CS_COUNT(use->class, hits);
  uint32_t use_stack = use->context == 0 ? 0 : cs_stack_of_context(use->context);
  if (use_stack == 0 && use->frame != NULL) use_stack = cs_stack_take(use->frame, true);
  const uint64_t key = key_of(use, use_stack);
  cs_publish_use(use, use_stack);
  for (uint32_t probe = 0; probe < PROBES; probe++) {
    entry *const entry = &entries[((key >> 1) + probe) % CS_QUARANTINE_HITS];
    uint64_t found = atomic_load_explicit(&entry->key, memory_order_acquire);
    if (found == 0 && atomic_compare_exchange_strong(&entry->key, &found, key)) {
      fill_in(entry, use, use_stack);
      atomic_fetch_add(&entry->count, 1);
      // release: pairs with the acquire load in cs_quarantine_hit_at().
      atomic_store_explicit(&entry->is_ready, 1, memory_order_release);
      return;
    }
    if (found == key) {
      atomic_fetch_add(&entry->count, 1);
      return;
    }
  }
  atomic_fetch_add(&lost, 1);
}

bool cs_quarantine_hit_at(uint32_t index, cs_quarantine_hit *ret_hit) {
  uint32_t passed = 0;
  for (uint32_t place = 0; place < CS_QUARANTINE_HITS; place++) {
    entry *const entry = &entries[place];
    if (atomic_load_explicit(&entry->is_ready, memory_order_acquire) == 0 || passed++ != index) continue;
    *ret_hit = entry->hit;
    ret_hit->count = atomic_load(&entry->count);
    ret_hit->age_ns = entry->hit.has_record != 0 ? cs_ticks_ns(entry->ticks) : 0;
    cs_stack_read_whole(entry->use_stack, &ret_hit->use);
    cs_stack_read_whole(entry->free_stack, &ret_hit->free);
    ret_hit->use.thread = entry->use_thread;
    ret_hit->free.thread = entry->free_thread;
    return true;
  }
  return false;
}

uint64_t cs_quarantine_hits_lost(void) {
  return atomic_load(&lost);
}

#endif
