// Handles a fault in the address range of the slots. The crash handler (CShim/Handler) calls this code before it treats
// the fault as a crash. A class's policy says whether an invalid access ends the process or is absorbed: recorded, and
// then allowed. "Retried" means that the thread executes the faulting instruction again.
//
// | state of the page        | reaction                                                                              |
// |--------------------------|---------------------------------------------------------------------------------------|
// | freed                    | The access is recorded. If the class's policy is to absorb, the page is opened and    |
// |                          | the access retried. Otherwise, the process ends.                                      |
// | owned by another thread  | The access is retried after a pause of 0.1 ms.                                        |
// | accessible again         | The access is retried at once.                                                        |
// | guard page               | The access is recorded for the nearer slot, as an overflow or underflow. The policy   |
// |                          | then applies as for a freed page.                                                     |
// | never used, or trap page | The fault is an ordinary crash.                                                       |
#include "cs_platform.h"

#if CS_SUPPORTED

#include "pages.h"

#include <signal.h>
#include <ucontext.h>

#include "../../Handler/Signal/Kernel/system_call.h"
#include "access_aarch64.h"
#include "access_x86_64.h"

#define AGAIN_SLEEP_NS 100000

// The reference counts of an immortal object. Retains and releases of an immortal object have no effect, so its deinit
// cannot run a second time.
#define COUNTS_IMMORTAL UINT64_C(0x80000004ffffffff)

typedef struct fault {
  uint64_t address;
  const ucontext_t *context;
} fault;

static void record(const fault *fault, cs_ring_pages kind, bool is_fatal, const cs_page_slot *slot) SIGNAL_SAFE {
  const cs_page_event event = {.kind = kind,
                               .address = fault->address,
                               .context = fault->context,
                               .is_fatal = is_fatal,
                               .fatal_address = fault->address};
  cs_page_record(&event, slot);
}

static bool wait_a_moment(void) SIGNAL_SAFE {
  cs_sleep_ns(AGAIN_SLEEP_NS);
  return true;
}

static void make_immortal(const cs_page_slot *slot) SIGNAL_SAFE {
  if (slot->class == 0 || slot->object_bytes < 2 * sizeof(uint64_t)) return;
  volatile uint64_t *const words = (volatile uint64_t *)(uintptr_t)slot->object;
  // If the page's memory was returned to the system, the page now contains only zeros, and this code restores the
  // metadata pointer.
  if (words[0] == 0) words[0] = cs_page_classes[slot->class - 1].metadata;
  words[1] = COUNTS_IMMORTAL;
}

static bool use_of_freed(uint32_t index, const fault *fault) SIGNAL_SAFE {
  cs_page_slot *slot = &cs_page_slots[index];
  if (!cs_page_swap(&slot->state, CS_PAGE_FREED, CS_PAGE_BUSY)) return true;
  const cs_ring_pages kind = cs_access_is_write(fault->context) ? CS_RING_PAGES_WRITE : CS_RING_PAGES_READ;
  // For an instruction fetch, the page stays inaccessible, because its memory must not become executable.
  const bool goes_on = !cs_access_is_fetch(fault->context) && cs_page_policy(slot) == CS_MODE_ABSORB &&
                       cs_page_protect(cs_page_of_slot(index), true);
  record(fault, kind, !goes_on, slot);
  if (goes_on) {
    make_immortal(slot);
    CS_PAGES_COUNT(opened);
  }
  __atomic_store_n(&slot->state, goes_on ? CS_PAGE_OPENED : CS_PAGE_CONDEMNED, __ATOMIC_RELEASE);
  return goes_on;
}

static bool fault_in_slot(uint32_t index, const fault *fault) SIGNAL_SAFE {
  switch (__atomic_load_n(&cs_page_slots[index].state, __ATOMIC_ACQUIRE)) {
  case CS_PAGE_FREED:
    return use_of_freed(index, fault);
  case CS_PAGE_BUSY:
    return wait_a_moment();
  case CS_PAGE_LIVE:
  case CS_PAGE_IDLE:
  case CS_PAGE_OPENED:
  case CS_PAGE_LOST:
    // Either another thread made the page accessible after the fault, or the program itself made the page inaccessible.
    return !cs_access_is_fetch(fault->context) && cs_page_protect(cs_page_of_slot(index), true);
  default:
    return false;
  }
}

// Copies the slot that the program probably meant to access when it hit the guard page in front of slot `index`. This
// is the nearer slot if it was ever used, else the slot on the other side of the guard page. Returns false if neither
// was used.
static bool neighbour(uint32_t index, const fault *fault, cs_page_slot *ret_copy, bool *ret_is_before) SIGNAL_SAFE {
  const bool is_lower_half = ((fault->address - cs_pages_start) & (CS_PAGES_BYTES - 1)) < CS_PAGES_BYTES / 2;
  for (int attempt = 0; attempt < 2; attempt++) {
    const bool is_before = is_lower_half == (attempt == 0);
    if (is_before ? index == 0 : index >= CS_PAGES_SLOT_LIMIT) continue;
    if (!cs_page_copy(is_before ? index - 1 : index, ret_copy) || ret_copy->generation == 0) continue;
    *ret_is_before = is_before;
    return true;
  }
  return false;
}

static bool fault_in_guard(uint32_t index, const fault *fault) SIGNAL_SAFE {
  cs_page_slot copy;
  bool is_before = false;
  cs_page_slot *slot = &cs_page_slots[index];
  const uint32_t state = __atomic_load_n(&slot->guard, __ATOMIC_ACQUIRE);
  const bool is_fetch = cs_access_is_fetch(fault->context);
  if (state == CS_GUARD_BUSY) return wait_a_moment();
  if (state == CS_GUARD_OPENED) return !is_fetch && cs_page_protect(cs_page_of_guard(index), true);
  if (!neighbour(index, fault, &copy, &is_before)) return false;
  if (!cs_page_swap(&slot->guard, CS_GUARD_CLOSED, CS_GUARD_BUSY)) return true;
  const bool goes_on =
      !is_fetch && cs_page_policy(&copy) == CS_MODE_ABSORB && cs_page_protect(cs_page_of_guard(index), true);
  record(fault, is_before ? CS_RING_PAGES_OVERFLOW : CS_RING_PAGES_UNDERFLOW, !goes_on, &copy);
  if (goes_on) CS_PAGES_COUNT(opened);
  __atomic_store_n(&slot->guard, goes_on ? CS_GUARD_OPENED : CS_GUARD_CLOSED, __ATOMIC_RELEASE);
  return goes_on;
}

bool cs_page_fault(int signal, const void *siginfo, void *context) SIGNAL_SAFE {
  const siginfo_t *information = siginfo;
  if (signal != SIGSEGV || information->si_code != SEGV_ACCERR || cs_page_slots == NULL) return false;
  const fault fault = {.address = (uint64_t)(uintptr_t)information->si_addr, .context = context};
  if (!cs_page_is_ours(fault.address) || fault.address - cs_pages_start < CS_PAGES_FIRST_GUARD) return false;
  const uint32_t index = cs_page_slot_index(fault.address);
  const bool is_guard = (fault.address - cs_page_of_guard(index)) < CS_PAGES_BYTES;
  return is_guard ? fault_in_guard(index, &fault) : fault_in_slot(index, &fault);
}

#endif
