#include "cs_platform.h"

#if CS_SUPPORTED

#include "unwind.h"

#include "../Dispatch/trusted.h"
#include "../Images/images.h"
#include "cs_return_address.h"
#include "steps.h"

// The state of one unwind.
typedef struct walk {
  cs_cfi_scratch *scratch;
  const cs_ring_registers *context; // the registers of the frame with which the unwind begins
  const cs_frame_list *list;
  cs_async_start async;
  uint64_t asked_function; // the start of the last function that was checked for an async context; the next frame often
                           // has the same function
  uint64_t registers[CS_REGISTER_COUNT];
  bool is_exact; // whether this frame's pc is the address of an instruction, and not a return address
  bool is_bound; // AArch64: the stack pointer is only a lower bound, because a frame pointer has led to this frame
} walk;

static bool is_code(uint64_t pc) SIGNAL_SAFE {
  struct dl_find_object object;
  return _dl_find_object((void *)(uintptr_t)pc, &object) == 0;
}

// Returns the list entry for frame `depth`. The first `head_limit` frames have fixed entries. The other frames use the
// entries of the tail as a ring buffer, so that the outermost ones remain.
static cs_ring_frame *place_of(const cs_frame_list *list, uint32_t depth) SIGNAL_SAFE {
  if (depth < list->head_limit) return &list->frames[depth];
  return &list->frames[list->head_limit + (depth - list->head_limit) % list->tail_limit];
}

static cs_ring_frame *append(walk *way, cs_ring_trust trust) SIGNAL_SAFE {
  const cs_frame_list *list = way->list;
  cs_ring_frame *frame = place_of(list, *list->total);
  frame->pc = way->registers[CS_REGISTER_PC];
  frame->function_start = 0;
  frame->trust = trust;
  frame->flags = way->is_exact ? CS_RING_FRAME_EXACT : 0;
  frame->image = CS_RING_NO_IMAGE; // found after the unwind, only for the frames that are still in the list
  frame->reserved = 0;
  (*list->total)++;
  if (*list->total <= list->head_limit) *list->count = *list->head = *list->total;
  return frame;
}

// Unwinds one frame with the frame pointer, for code without tables, such as glibc's assembly code. The word at fp is
// the caller's frame pointer, and the word at fp + 8 is the return address. The result is accepted only if the new
// frame pointer is above the old one and the return address is inside code. On AArch64, these two words can be anywhere
// in the function's frame, so the caller's stack pointer is only known to be higher.
static bool step_by_frame_pointer(walk *way) SIGNAL_SAFE {
  uint64_t *registers = way->registers;
  const uint64_t frame = registers[CS_REGISTER_FRAME_POINTER];
  uint64_t next = 0;
  uint64_t pc = 0;
  if (frame < registers[CS_REGISTER_STACK_POINTER] || (frame & 7) != 0) return false;
  if (!cs_memory_read_word(&way->scratch->memory, frame, &next)) return false;
  if (!cs_memory_read_word(&way->scratch->memory, frame + 8, &pc)) return false;
  pc = cs_return_address(pc);
  if (!is_code(pc - 1) && !cs_is_handler_return(pc)) return false;
  registers[CS_REGISTER_FRAME_POINTER] = next;
  registers[CS_REGISTER_STACK_POINTER] = frame + 16;
  registers[CS_REGISTER_PC] = pc;
  way->is_bound = CS_LEAF_HAS_NO_FRAME;
  return true;
}

// Unwinds from a call of an invalid address, which has only stored the return address: all other registers are still
// the caller's. The address is invalid if no image contains it, or if the fault's error code shows that the processor
// could not fetch an instruction there.
static bool step_out_of_bad_call(walk *way) SIGNAL_SAFE {
  uint64_t *registers = way->registers;
  uint64_t pc = 0;
  // The error code belongs to the innermost frame, and not to an outer frame that was interrupted by another signal.
  const bool is_innermost = registers[CS_REGISTER_PC] == way->context->general[CS_REGISTER_PC];
  const bool is_bad = is_innermost && cs_registers_show_bad_fetch(way->context);
  if (is_code(registers[CS_REGISTER_PC]) && !is_bad) return false;
  if (!cs_read_return_address(&way->scratch->memory, registers, &pc) || !is_code(pc - 1)) return false;
  registers[CS_REGISTER_STACK_POINTER] += CS_RETURN_ADDRESS_BYTES;
  registers[CS_REGISTER_PC] = pc;
  return true;
}

// Stores the start of the function whose frame was just unwound. If no async context was found yet, searches for it in
// this frame.
static void note_function(walk *way, cs_ring_frame *frame, const uint64_t *registers, bool was_exact) SIGNAL_SAFE {
  frame->function_start = way->scratch->function.start;
  if (way->async.is_found || way->asked_function == frame->function_start) return;
  way->asked_function = frame->function_start;
  way->async.is_found = cs_async_context_of(way->scratch, registers, was_exact, &way->async.context);
}

// Unwinds one frame by its tables. If they need the stack pointer and only a lower bound of it is known, returns
// CS_CFI_UNKNOWN.
static cs_cfi_result step_by_tables(walk *way) SIGNAL_SAFE {
  cs_cfi_scratch *scratch = way->scratch;
  if (CS_LEAF_HAS_NO_FRAME) {
    const uint64_t pc = way->registers[CS_REGISTER_PC] - !way->is_exact;
    const bool has_row = cs_cfi_prepare(scratch, pc);
    const bool may_be_trampoline = !has_row || scratch->function.is_signal_frame;
    if (may_be_trampoline && cs_leave_handler(way->registers, way->is_bound)) {
      way->is_bound = false;
      return CS_CFI_INTERRUPTED;
    }
    if (way->is_bound && has_row && scratch->row.cfa_register == CS_REGISTER_STACK_POINTER) return CS_CFI_UNKNOWN;
  }
  const cs_cfi_result result = cs_cfi_step(scratch, way->registers, way->is_exact);
  if (result == CS_CFI_CALLER) way->is_bound = false;
  return result;
}

// Unwinds one frame. Returns false at the end of the stack, and stores the reason in `ret_stop`.
static bool step(walk *way, cs_ring_frame *frame, cs_ring_trust *ret_trust, cs_unwind_stop *ret_stop) SIGNAL_SAFE {
  uint64_t here[CS_REGISTER_COUNT];
  memcpy(here, way->registers, sizeof here);
  const bool was_exact = way->is_exact;
  const cs_cfi_result result = step_by_tables(way);
  const bool has_tables = way->scratch->row_pc != 0 && way->scratch->row_pc == here[CS_REGISTER_PC] - !was_exact;
  if (has_tables) note_function(way, frame, here, was_exact);

  way->is_exact = result == CS_CFI_INTERRUPTED;
  if (result == CS_CFI_CALLER || result == CS_CFI_INTERRUPTED) {
    way->is_exact = way->is_exact || way->scratch->function.is_signal_frame;
    *ret_trust = CS_RING_TRUST_CFI;
    return true;
  }
  *ret_stop = CS_UNWIND_STOP_END;
  if (result == CS_CFI_OUTERMOST) return false;
  if (was_exact && step_out_of_bad_call(way)) {
    *ret_trust = CS_RING_TRUST_SCAN;
    return true;
  }
  *ret_trust = CS_RING_TRUST_FRAME_POINTER;
  if (step_by_frame_pointer(way)) return true;
  *ret_stop = result == CS_CFI_UNREADABLE ? CS_UNWIND_STOP_UNREADABLE : CS_UNWIND_STOP_NO_CALLER;
  return false;
}

static void reverse(cs_ring_frame *frames, uint32_t from, uint32_t to) SIGNAL_SAFE {
  while (from + 1 < to) {
    const cs_ring_frame frame = frames[from];
    frames[from++] = frames[--to];
    frames[to] = frame;
  }
}

// Sorts the ring buffer of the tail, and adds its frames to the counts. Three reversals rotate the buffer, so that its
// oldest frame comes first.
static void finish_tail(const cs_frame_list *list) SIGNAL_SAFE {
  if (*list->total <= list->head_limit) return;
  const uint32_t beyond = *list->total - list->head_limit;
  cs_ring_frame *tail = &list->frames[list->head_limit];
  if (beyond <= list->tail_limit) {
    *list->head = *list->count = *list->total; // no frames were dropped, so the buffer is already sorted
    return;
  }
  const uint32_t oldest = beyond % list->tail_limit;
  reverse(tail, 0, oldest);
  reverse(tail, oldest, list->tail_limit);
  reverse(tail, 0, list->tail_limit);
  *list->count = list->head_limit + list->tail_limit;
}

void cs_unwind(cs_cfi_scratch *scratch, const cs_ring_registers *registers, const cs_frame_list *list) SIGNAL_SAFE {
  walk way = {
      .scratch = scratch, .context = registers, .list = list, .is_exact = !cs_registers_are_past_trap(registers)};
  memcpy(way.registers, registers->general, sizeof way.registers);
  *list->count = *list->head = *list->total = 0;

  cs_ring_trust trust = CS_RING_TRUST_CONTEXT;
  cs_unwind_stop stop = CS_UNWIND_STOP_LIMIT;
  while (*list->total < list->step_limit) {
    const uint64_t stack_pointer = way.registers[CS_REGISTER_STACK_POINTER];
    const bool may_be_leaf = CS_LEAF_HAS_NO_FRAME && way.is_exact;
    cs_ring_frame *frame = append(&way, trust);
    if (!step(&way, frame, &trust, &stop)) break;
    stop = CS_UNWIND_STOP_LIMIT;
    // The stack pointer must grow with each frame. Exceptions: it can stay the same for a leaf function without a
    // frame, and it can be lower after the step out of a signal handler, for which way.is_exact is true.
    if (may_be_leaf && way.registers[CS_REGISTER_STACK_POINTER] == stack_pointer) continue;
    if (way.registers[CS_REGISTER_STACK_POINTER] <= stack_pointer && !way.is_exact) {
      stop = CS_UNWIND_STOP_LOOP;
      break;
    }
  }
  *list->stop = stop;
  finish_tail(list);
  if (way.async.is_found) cs_async_append(scratch, way.async.context, list);
}

void cs_unwind_find_images(const cs_frame_list *list) SIGNAL_SAFE {
  uint16_t image = CS_RING_NO_IMAGE;
  for (uint32_t index = 0; index < *list->count; index++) {
    cs_ring_frame *frame = &list->frames[index];
    const bool is_exact = (frame->flags & CS_RING_FRAME_EXACT) != 0;
    const uint64_t pc = frame->pc - !is_exact;
    // Adjacent frames often belong to the same image, so the image of the previous frame is checked first.
    const bool is_same = image != CS_RING_NO_IMAGE && pc >= cs_images.start[image] && pc < cs_images.end[image];
    if (!is_same) image = cs_image_index(pc);
    frame->image = image;
  }
}

#endif
