// The interface of the hooks on unsupported platforms.
#include "cs_platform.h"

#if !CS_SUPPORTED

#include "cs_calls.h"
#include "cs_executor_checks.h"

cs_executor_obstacle cs_executor_status(void) {
  return CS_EXECUTOR_NO_HOOKS;
}

bool cs_calls_image(uintptr_t address, cs_calls_range *ret_range) {
  (void)address;
  (void)ret_range;
  return false;
}

bool cs_calls_find(const void *frame, const cs_calls_range *range, cs_calls_call *ret_call) {
  (void)frame;
  (void)range;
  (void)ret_call;
  return false;
}

uint64_t cs_calls_still(const void *frame, const cs_calls_call *call) {
  (void)frame;
  (void)call;
  return 0;
}

#endif
