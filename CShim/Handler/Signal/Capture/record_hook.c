// Who outside of the handler knows something of a crash, and is asked for it.
#include "cs_shim.h"
#include "record.h"

static cs_shim_record_function *witness; // atomic

void cs_shim_set_record_function(cs_shim_record_function *function) {
  // release: pairs with cs_record_hook().
  __atomic_store_n(&witness, function, __ATOMIC_RELEASE);
}

void cs_record_hook(const cs_ring_record *record) SIGNAL_SAFE {
  cs_shim_record_function *const function = __atomic_load_n(&witness, __ATOMIC_ACQUIRE);
  if (function) function(record);
}
