// Finds the callers of a Swift async function. The callers are not on the stack, but in a linked list of AsyncContexts.
// Each context contains { address of the parent context, address where the parent resumes }.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "../Unwind/unwind.h"

#include "../Dispatch/trusted.h"
#include "../Unwind/steps.h"

bool cs_async_context_of(cs_cfi_scratch *scratch, const uint64_t registers[CS_REGISTER_COUNT], bool is_exact,
                         uint64_t *ret_context) SIGNAL_SAFE {
  uint8_t prologue[CS_ASYNC_PROLOGUE_BYTES];
  const uint64_t start = scratch->function.start;
  if (cs_memory_copy(prologue, start, sizeof prologue) != sizeof prologue || !cs_prologue_is_async(prologue)) {
    return false;
  }
  // If the function is still in its first instructions, it may not have stored the context on the stack yet. The
  // context is then in the register in which it was passed.
  if (is_exact && registers[CS_REGISTER_PC] - start < cs_async_prologue_bytes(prologue)) {
    *ret_context = registers[CS_REGISTER_ASYNC_CONTEXT];
    return true;
  }
  return cs_memory_read_word(&scratch->memory, registers[CS_REGISTER_FRAME_POINTER] - 8, ret_context);
}

void cs_async_append(cs_cfi_scratch *scratch, uint64_t context, const cs_frame_list *list) SIGNAL_SAFE {
  const uint32_t limit = list->limit - list->head_limit - list->tail_limit;
  for (uint32_t count = 0; count < limit && *list->count < list->limit; count++) {
    uint64_t parent = 0;
    uint64_t resume = 0;
    if (context == 0 || (context & 7) != 0) break;
    if (!cs_memory_read_word(&scratch->memory, context, &parent)) break;
    if (!cs_memory_read_word(&scratch->memory, context + 8, &resume)) break;
    // The address where a parent resumes is in the code of an image (the executable or a shared library). If no image
    // contains the address, the context is invalid, and the list of callers ends.
    struct dl_find_object object;
    if (_dl_find_object((void *)(uintptr_t)resume, &object) != 0) break;
    list->frames[*list->count] = (cs_ring_frame){
        .pc = resume,
        .function_start = cs_cfi_prepare(scratch, resume) ? scratch->function.start : 0,
        .trust = CS_RING_TRUST_ASYNC,
        .flags = CS_RING_FRAME_EXACT | CS_RING_FRAME_ASYNC,
        .image = CS_RING_NO_IMAGE,
    };
    (*list->count)++;
    if (parent == context) break;
    context = parent;
  }
}

#endif
