// Captures stacks with frames that AddressSanitizer poisons, and stacks of functions without a frame.
#include "cs_callees.h"
#include "cs_quarantine_test_support.h"

#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size)   ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

void cs_test_red_frames(cs_quarantine_stack *ret_anew, cs_quarantine_stack *ret_remembered, uint64_t *ret_caller) {
  cs_quarantine_stack *const stacks[] = {ret_anew, ret_remembered};
  void *const frame = __builtin_frame_address(0);
  ASAN_POISON_MEMORY_REGION(frame, 2 * sizeof(void *));
  // Both iterations use the same call instruction. Therefore their return addresses are equal.
  for (int index = 0; index < 2; index++)
    cs_quarantine_here(stacks[index]);
  *ret_caller = cs_quarantine_caller();
  ASAN_UNPOISON_MEMORY_REGION(frame, 2 * sizeof(void *));
}

__attribute__((noinline)) static void inner(cs_quarantine_stack *ret_stack) {
  cs_quarantine_here(ret_stack);
  // Prevents a tail call. Therefore this function has a frame during the call.
  __asm__ volatile("");
}

// Ends in a tail call. Therefore middle() has no frame while inner() runs.
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
