#include "recoverable_fault.h"

#include "cs_shim.h"

static cs_shim_fault_function *mender; // atomic

void cs_shim_set_fault_function(cs_shim_fault_function *function) {
  // release: pairs with cs_recover_fault().
  __atomic_store_n(&mender, function, __ATOMIC_RELEASE);
}

bool cs_recover_fault(int signal, const siginfo_t *information, void *context) SIGNAL_SAFE {
  cs_shim_fault_function *const function = __atomic_load_n(&mender, __ATOMIC_ACQUIRE);
  return function && function(signal, information, context);
}
