// Places an allocation in a slot, a page between two guard pages (pages.h): selects a free slot from the pool and makes
// it accessible.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "pages.h"

#include "../../Handler/Signal/Dispatch/trusted.h"
#include "../../Handler/Signal/Kernel/system_call.h"
#include "cs_shim.h"
#include "edges.h"

// The maximum number of unusable slots that one allocation removes from the pool before it fails. A slot is unusable if
// its page was accessed after the slot was put into the pool, or if its index is not below the configured number of
// slots.
#define TRIES 64

// Takes a slot from the pool, and stores the slot's index and previous state. This thread then owns the slot. Returns
// false if there is no slot.
static bool claim(uint32_t *ret_index, uint32_t *ret_state) SIGNAL_SAFE {
  for (int attempt = 0; attempt < TRIES; attempt++) {
    uint32_t index = 0;
    if (!cs_page_pool_take(&index)) return false;
    cs_page_slot *slot = &cs_page_slots[index];
    const uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
    const bool is_wanted = index < __atomic_load_n(&cs_page_slot_target, __ATOMIC_RELAXED);
    const bool is_free = state == CS_PAGE_UNUSED || state == CS_PAGE_FREED || state == CS_PAGE_IDLE;
    if (is_wanted && is_free && cs_page_swap(&slot->state, state, CS_PAGE_BUSY)) {
      *ret_index = index;
      *ret_state = state;
      return true;
    }
    // The slot is unusable (see TRIES) and stays out of the pool.
    __atomic_store_n(&slot->is_pooled, 0, __ATOMIC_RELEASE);
  }
  return false;
}

static void put_back(uint32_t index, uint32_t state) SIGNAL_SAFE {
  cs_page_slot *slot = &cs_page_slots[index];
  __atomic_store_n(&slot->state, state, __ATOMIC_RELEASE);
  if (!cs_page_pool_put(index)) __atomic_store_n(&slot->is_pooled, 0, __ATOMIC_RELEASE);
}

uint64_t cs_page_allocate(uint32_t bytes, uint64_t caller) SIGNAL_SAFE {
  uint32_t index = 0, state = CS_PAGE_UNUSED;
  if (!claim(&index, &state)) {
    CS_PAGES_COUNT(no_slot);
    return 0;
  }
  const uint64_t page = cs_page_of_slot(index);
  if (state != CS_PAGE_IDLE && !cs_page_protect(page, true)) {
    CS_PAGES_COUNT(no_page);
    put_back(index, state);
    return 0;
  }
  cs_page_slot *slot = &cs_page_slots[index];
  __atomic_fetch_add(&slot->generation, 1, __ATOMIC_RELEASE);
  slot->object = page + CS_PAGES_BYTES - cs_page_rounded(bytes);
  slot->object_bytes = bytes;
  slot->class = 0;
  slot->free_tid = 0;
  slot->free_ns = 0;
  slot->free_count = 0;
  slot->origin_tid = cs_gettid();
  slot->origin_count = (uint32_t)cs_shim_stack_here(caller, slot->origin, CS_PAGES_FRAMES);
  cs_page_edges_fill(slot->object, bytes);
  CS_PAGES_COUNT(allocated);
  __atomic_store_n(&slot->state, CS_PAGE_LIVE, __ATOMIC_RELEASE);
  return slot->object;
}

#endif
