#include "cs_test_frames.h"

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
  // One call, so that the return addresses are the same.
  for (int index = 0; index < 2; index++)
    cs_quarantine_here(stacks[index]);
  *ret_caller = cs_quarantine_caller();
  ASAN_UNPOISON_MEMORY_REGION(frame, 2 * sizeof(void *));
}
