// Answers the program's queries about the shield: the current handler of each crash signal, and the state of the
// connection to crashd.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <dlfcn.h>

#include "../setup.h"

#include "../../Signal/Dispatch/replaced_handlers.h"

_Static_assert((int)CS_SHIM_ACTION_HANDLER == (int)CS_RING_HANDLER_REPLACED, "as in the ring");
_Static_assert((int)CS_SHIM_ACTION_DEFAULT == (int)CS_RING_HANDLER_DEFAULT, "as in the ring");
_Static_assert((int)CS_SHIM_ACTION_IGNORED == (int)CS_RING_HANDLER_IGNORED, "as in the ring");

size_t cs_shim_replaced_handlers(cs_shim_replaced_handler *ret_handlers) {
  const cs_ring *ring = cs_started_ring();
  size_t count = 0;
  if (ring == NULL || !cs_shim_is_started()) return 0;
  cs_replaced_handlers_note();
  for (size_t index = 0; index < CS_RING_HANDLER_LIMIT && count < CS_SHIM_HANDLER_LIMIT; index++) {
    const cs_ring_handler *entry = &ring->header.handlers[index];
    const uint32_t state = __atomic_load_n(&entry->state, __ATOMIC_RELAXED);
    if (state == CS_RING_HANDLER_OURS) continue;
    const uint64_t address = __atomic_load_n(&entry->address, __ATOMIC_RELAXED);
    Dl_info place = {0};
    const bool is_known = address != 0 && dladdr((void *)(uintptr_t)address, &place) != 0;
    ret_handlers[count++] = (cs_shim_replaced_handler){.signal = entry->signal,
                                                       .action = (cs_shim_action)state,
                                                       .address = address,
                                                       .image = is_known ? place.dli_fname : NULL};
  }
  return count;
}

#endif
