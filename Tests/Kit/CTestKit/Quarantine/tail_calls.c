// A function that ends by a jump to another one, so that it has no frame meanwhile.
#include "cs_callees.h"
#include "cs_test_frames.h"

__attribute__((noinline)) static void inner(cs_quarantine_stack *ret_stack) {
  cs_quarantine_here(ret_stack);
  // So that this function has a frame meanwhile.
  __asm__ volatile("");
}

__attribute__((noinline)) static void middle(cs_quarantine_stack *ret_stack) {
  __attribute__((musttail)) return inner(ret_stack);
}

__attribute__((noinline, not_tail_called)) uint64_t cs_test_tail_call(cs_quarantine_stack *ret_stack,
                                                                      cs_quarantine_stack *ret_whole) {
  middle(ret_stack);
  ret_whole->count =
      cs_callees_add(ret_stack->frames, ret_stack->count, false, ret_whole->frames, CS_QUARANTINE_FRAMES);
  return (uint64_t)(uintptr_t)middle;
}
