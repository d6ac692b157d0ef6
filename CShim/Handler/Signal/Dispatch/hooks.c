#include "cs_platform.h"

#if CS_SUPPORTED

#include "hooks.h"

#include "cs_shim.h"

static cs_shim_record_function *record_hook; // atomic
static cs_shim_fault_function *fault_hook;   // atomic

void cs_shim_set_record_function(cs_shim_record_function *function) {
  // release: pairs with the acquire load in cs_record_hook().
  __atomic_store_n(&record_hook, function, __ATOMIC_RELEASE);
}

void cs_record_hook(const cs_ring_record *record) SIGNAL_SAFE {
  cs_shim_record_function *const function = __atomic_load_n(&record_hook, __ATOMIC_ACQUIRE);
  if (function) function(record);
}

void cs_shim_set_fault_function(cs_shim_fault_function *function) {
  // release: pairs with the acquire load in cs_recover_fault().
  __atomic_store_n(&fault_hook, function, __ATOMIC_RELEASE);
}

bool cs_recover_fault(int signal, const siginfo_t *information, void *context) SIGNAL_SAFE {
  cs_shim_fault_function *const function = __atomic_load_n(&fault_hook, __ATOMIC_ACQUIRE);
  return function && function(signal, information, context);
}

#endif
