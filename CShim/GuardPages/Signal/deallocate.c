// Frees objects in slots (pages.h), and handles invalid frees.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "pages.h"

#include "../../Handler/Signal/Dispatch/trusted.h"
#include "../../Handler/Signal/Kernel/raw_copy.h"
#include "../../Handler/Signal/Kernel/system_call.h"
#include "cs_shim.h"
#include "edges.h"

// If another thread owns a slot, a thread that frees the slot's object waits at most 10 ms. The waiting thread checks
// the owner up to 500 times, and sleeps 20 µs between two checks.
#define WAIT_TRIES    500
#define WAIT_SLEEP_NS 20000

// Ends the process with a fault at an inaccessible address. The function returns only if the program's own SIGSEGV
// handler lets the process continue.
static void crash(uint64_t address) SIGNAL_SAFE {
  (void)cs_raw_byte(address);
}

// Returns an address in the trap page, at which an invalid free ends the process. The address differs from slot to
// slot. The incident that describes the invalid free also contains the address, so that a reader can match the incident
// with the crash.
static uint64_t trap_of(uint32_t index) SIGNAL_SAFE {
  return cs_pages_start + index % CS_PAGES_BYTES;
}

static void check_edges(uint32_t index, cs_page_slot *slot, uint64_t caller) SIGNAL_SAFE {
  int64_t offset = 0;
  if (!cs_page_edges_are_trampled(slot->object, slot->object_bytes, &offset)) return;
  const bool is_fatal = cs_page_policy(slot) == CS_MODE_CRASH;
  const cs_page_event event = {.kind = CS_RING_PAGES_TRAMPLED,
                               .address = slot->object + (uint64_t)offset,
                               .caller = caller,
                               .is_fatal = is_fatal,
                               .fatal_address = trap_of(index)};
  cs_page_record(&event, slot);
  if (is_fatal) crash(event.fatal_address);
}

bool cs_page_is_spent(uint32_t index) SIGNAL_SAFE {
  return __atomic_load_n(&cs_page_slots[index].guard, __ATOMIC_ACQUIRE) != CS_GUARD_CLOSED ||
         __atomic_load_n(&cs_page_slots[index + 1].guard, __ATOMIC_ACQUIRE) != CS_GUARD_CLOSED;
}

// Makes the page of a freed object of a listed class inaccessible. Returns false if the page stays accessible.
static bool guard(uint32_t index, cs_page_slot *slot, uint64_t caller) SIGNAL_SAFE {
  if (!cs_shim_handles_faults()) {
    CS_PAGES_COUNT(unarmed);
    return false;
  }
  slot->free_count = (uint32_t)cs_shim_stack_here(caller, slot->free, CS_PAGES_FRAMES);
  if (!cs_page_protect(cs_page_of_slot(index), false)) {
    CS_PAGES_COUNT(no_page);
    return false;
  }
  CS_PAGES_COUNT(guarded);
  return true;
}

// Precondition: the caller owns the slot.
static void release(uint32_t index, cs_page_slot *slot, uint64_t caller) SIGNAL_SAFE {
  const uint64_t page = cs_page_of_slot(index);
  const uint64_t first_word = slot->object_bytes < sizeof first_word ? 0 : cs_raw_word(slot->object);
  slot->class = cs_page_class_with(first_word, slot->object_bytes);
  check_edges(index, slot, caller);
  slot->free_tid = cs_gettid();
  slot->free_ns = cs_clock_ns(CLOCK_MONOTONIC);
  slot->free_count = 0;
  if (slot->class == 0) CS_PAGES_COUNT(others);
  bool is_closed = slot->class != 0 && guard(index, slot, caller);
  const bool is_wanted = index < __atomic_load_n(&cs_page_slot_target, __ATOMIC_RELAXED);
  if (!is_wanted && (is_closed || cs_page_protect(page, false))) {
    is_closed = true;
    cs_page_drop(page);
  }
  const bool is_pooled = is_wanted && !cs_page_is_spent(index);
  __atomic_store_n(&slot->is_pooled, is_pooled, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->state, is_closed ? CS_PAGE_FREED : CS_PAGE_IDLE, __ATOMIC_RELEASE);
  if (is_pooled && !cs_page_pool_put(index)) __atomic_store_n(&slot->is_pooled, 0, __ATOMIC_RELEASE);
}

static bool is_freed(uint32_t state) SIGNAL_SAFE {
  return state == CS_PAGE_FREED || state == CS_PAGE_IDLE || state == CS_PAGE_OPENED || state == CS_PAGE_CONDEMNED;
}

static void refuse(uint64_t object, uint32_t index, uint64_t caller) SIGNAL_SAFE {
  cs_page_slot copy;
  const bool is_known = index < CS_PAGES_SLOT_LIMIT && cs_page_copy(index, &copy) && copy.generation != 0;
  const bool is_double = is_known && is_freed(copy.state) && copy.object == object;
  const bool is_fatal = is_known && cs_page_policy(&copy) == CS_MODE_CRASH;
  const cs_page_event event = {.kind = is_double ? CS_RING_PAGES_DOUBLE_FREE : CS_RING_PAGES_INVALID_FREE,
                               .address = object,
                               .caller = caller,
                               .is_fatal = is_fatal,
                               .fatal_address = trap_of(index)};
  cs_page_record(&event, is_known ? &copy : NULL);
  if (is_fatal) crash(event.fatal_address);
}

bool cs_page_deallocate(uint64_t object, uint64_t caller) SIGNAL_SAFE {
  const uint64_t offset = object - cs_pages_start;
  // The trap page does not belong to a slot.
  const uint32_t index = offset < CS_PAGES_FIRST_GUARD ? CS_PAGES_SLOT_LIMIT : cs_page_slot_index(object);
  cs_page_slot *slot = index < CS_PAGES_SLOT_LIMIT ? &cs_page_slots[index] : NULL;
  for (int attempt = 0; slot != NULL && attempt < WAIT_TRIES; attempt++) {
    const uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
    if (state == CS_PAGE_BUSY) {
      cs_sleep_ns(WAIT_SLEEP_NS);
      continue;
    }
    if (state != CS_PAGE_LIVE || slot->object != object) break;
    if (!cs_page_swap(&slot->state, CS_PAGE_LIVE, CS_PAGE_BUSY)) continue;
    // The thread now owns the slot. The thread compares the address again, because another thread can have freed and
    // reused the slot before this thread took ownership. An object with another size starts at another address, because
    // objects are at the end of their page.
    if (slot->object == object) {
      release(index, slot, caller);
      return true;
    }
    __atomic_store_n(&slot->state, CS_PAGE_LIVE, __ATOMIC_RELEASE);
    break;
  }
  refuse(object, index, caller);
  return false;
}

bool cs_page_size(uint64_t object, uint32_t *ret_bytes) SIGNAL_SAFE {
  cs_page_slot copy;
  if (object - cs_pages_start < CS_PAGES_FIRST_GUARD) return false;
  const uint32_t index = cs_page_slot_index(object);
  if (index >= CS_PAGES_SLOT_LIMIT || !cs_page_copy(index, &copy)) return false;
  if (copy.state != CS_PAGE_LIVE || copy.object != object) return false;
  *ret_bytes = copy.object_bytes;
  return true;
}

#endif
