// Puts an object into a slot of its class. Precondition: the class has the policy zero or diagnose, no stack is
// recorded, and the fields are two words. On x86-64, this code is in assembly.
#include "cs_platform.h"

#if CS_SUPPORTED && defined(__aarch64__)

#include "queue.h"
#include "stubs.h"

SWIFTCC void cs_keep_zero_pair(uint64_t u0, uint64_t u1, uint64_t u2, cs_class *class, SWIFTSELF void *object) {
  (void)u0, (void)u1, (void)u2;
  cs_queue_put(class, object, CS_MODE_ZERO, false, true, __builtin_frame_address(0));
}

SWIFTCC void cs_keep_diagnose_pair(uint64_t u0, uint64_t u1, uint64_t u2, cs_class *class, SWIFTSELF void *object) {
  (void)u0, (void)u1, (void)u2;
  cs_queue_put(class, object, CS_MODE_DIAGNOSE, false, true, __builtin_frame_address(0));
}

#endif
