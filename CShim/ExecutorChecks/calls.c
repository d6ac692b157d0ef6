// Finds the program's call that led into the Swift runtime, and therefore to a hook of an executor check. Follows the
// frame pointers on the thread's own stack only.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <link.h>
#include <stddef.h>

#include "cs_callees.h"
#include "cs_calls.h"
#include "cs_quarantine.h"
#include "cs_return_address.h"

// The maximum number of frames between a hook and the program's call. At most four of them belong to the runtime. The
// limit is higher because hooks that other libraries installed have frames, too.
#define STEPS 32
// The maximum number of frames that cs_calls_still() searches for the function that made an earlier failing check. The
// search goes from the current check to its callers.
#define DEPTH 256

typedef struct search {
  uintptr_t address;
  cs_calls_range *range;
} search;

static int look_at_image(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  const search *const search = context;
  cs_calls_range range = {.start = UINTPTR_MAX, .end = 0};
  for (uint16_t index = 0; index < info->dlpi_phnum; index++) {
    const ElfW(Phdr) *const header = &info->dlpi_phdr[index];
    if (header->p_type != PT_LOAD) continue;
    const uintptr_t start = info->dlpi_addr + header->p_vaddr;
    if (start < range.start) range.start = start;
    if (start + header->p_memsz > range.end) range.end = start + header->p_memsz;
  }
  if (search->address < range.start || search->address >= range.end) return 0;
  *search->range = range;
  return 1;
}

bool cs_calls_image(uintptr_t address, cs_calls_range *ret_range) {
  search search = {.address = address, .range = ret_range};
  return dl_iterate_phdr(look_at_image, &search) == 1;
}

// The position of the search on this thread's own stack: the current frame, and the bounds of the stack.
typedef struct walk {
  uintptr_t start;
  uintptr_t end;
  uintptr_t frame;
} walk;

static walk begin(const void *frame) {
  walk walk = {.frame = (uintptr_t)frame};
  cs_quarantine_stack_bounds(&walk.start, &walk.end);
  return walk;
}

// Returns whether both words of the frame (the saved frame pointer and the return address) are inside the stack, so
// that this code can read them.
static bool is_known(const walk *walk) {
  const uintptr_t at = walk->frame;
  return at >= walk->start && at < walk->end && walk->end - at >= 2 * sizeof(uint64_t) && at % 8 == 0;
}

// Returns the return address of the frame.
READS_FRAMES static uint64_t return_address(const walk *walk) {
  const uint64_t word = ((const uint64_t *)walk->frame)[1]; // NOLINT(performance-no-int-to-ptr): is on the stack
  return cs_return_address(word);
}

READS_FRAMES static bool step(walk *walk) {
  const uint64_t saved = ((const uint64_t *)walk->frame)[0]; // NOLINT(performance-no-int-to-ptr): as above
  // Swift can set bit 60 in the saved frame pointer of an async function.
  const uintptr_t next = saved & ~(UINT64_C(1) << 60);
  if (next <= walk->frame) return false;
  walk->frame = next;
  return is_known(walk);
}

bool cs_calls_find(const void *frame, const cs_calls_range *range, cs_calls_call *ret_call) {
  walk walk = begin(frame);
  if (!is_known(&walk)) return false;
  for (uint32_t distance = 0; distance < STEPS; distance++) {
    const uint64_t pc = return_address(&walk);
    if (pc < 4096) return false;
    const bool has_next = step(&walk);
    // A return address follows its call instruction. The byte before the return address is therefore in the calling
    // function.
    if (pc - 1 < range->start || pc - 1 >= range->end) {
      *ret_call = (cs_calls_call){.pc = pc,
                                  .frame = has_next ? walk.frame : 0,
                                  .caller = has_next ? return_address(&walk) : 0,
                                  .distance = distance};
      return true;
    }
    if (!has_next) return false;
  }
  return false;
}

uint64_t cs_calls_still(const void *frame, const cs_calls_call *call) {
  walk walk = begin(frame);
  if (call->frame == 0 || !is_known(&walk)) return 0;
  for (uint32_t distance = 0; distance < DEPTH; distance++) {
    const uint64_t pc = return_address(&walk);
    if (!step(&walk) || walk.frame > call->frame) return 0;
    if (walk.frame == call->frame) return return_address(&walk) == call->caller ? pc : 0;
  }
  return 0;
}

#endif
