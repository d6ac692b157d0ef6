#include "cs_platform.h"

#if CS_SUPPORTED

#include "cs_testing.h"

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "../setup.h"

#include "../../Signal/Capture/record.h"
#include "../../Signal/Dispatch/crasher.h"
#include "../../Signal/Dispatch/watch.h"
#include "../../Signal/FaultInjection/fault_injection.h"
#include "../../Signal/Unwind/cfi.h"
#include "../../Signal/Unwind/unwind.h"

bool cs_testing_claim_and_abandon(void) {
  if (!cs_shim_is_started()) return false;
  const siginfo_t information = {.si_signo = SIGKILL};
  cs_crasher *crasher = cs_crasher_claim(cs_gettid(), SIGKILL, &information, NULL);
  if (crasher == NULL) return false;
  memset(&crasher->slot->record.registers, 0xa5, sizeof crasher->slot->record.registers);
  cs_crasher_release(crasher);
  return true;
}

void cs_testing_inject(cs_injection injection, uint32_t places) {
  cs_process.injection = injection;
  cs_process.injection_points = places;
}

bool cs_testing_let_go(void) {
  const int holder = cs_injection_holder();
  return holder > 0 && kill(holder, SIGKILL) == 0;
}

void cs_testing_watch(uint32_t thread_count, uint32_t reminder_ms, uint32_t deadline_ms) {
  cs_process.test_reminder_ms = reminder_ms;
  cs_process.test_deadline_ms = deadline_ms;
  cs_process.injections_awaited = thread_count;
}

uint32_t cs_testing_watcher_rounds(void) {
  return cs_watch_rounds();
}

// What an unwind needs. The structure is allocated with calloc, because it is too large for the stack.
typedef struct working_memory {
  ucontext_t context;
  cs_ring_record record;
  cs_cfi_scratch scratch;
} working_memory;

__attribute__((noinline)) size_t cs_testing_unwind_here(uint64_t *ret_pcs, size_t limit) {
  working_memory *memory = calloc(1, sizeof *memory);
  if (memory == NULL || getcontext(&memory->context) != 0) {
    free(memory);
    return 0;
  }
  cs_registers_from_context(&memory->context, &memory->record.registers);
  const cs_frame_list frames = cs_record_frames(&memory->record);
  cs_unwind(&memory->scratch, &memory->record.registers, &frames);
  size_t count = 0;
  // Frame 0 is this function, so the loop starts at frame 1.
  for (size_t index = 1; index < memory->record.frame_count && count < limit; index++) {
    const cs_ring_frame *frame = &memory->record.frames[index];
    if ((frame->flags & CS_RING_FRAME_ASYNC) == 0) ret_pcs[count++] = frame->pc;
  }
  free(memory);
  return count;
}

static bool read_frame_information(cs_cfi_scratch *scratch, const cs_cfi_image *image, uint64_t pc) {
  if (!cs_cfi_find(image, pc, &scratch->function) || !cs_cfi_run(scratch, pc)) return false;
  // cs_cfi_run() has computed the rules that unwind from this pc (a row). Because `row_pc` is set, cs_cfi_step() uses
  // this row without a lookup.
  uint64_t registers[CS_REGISTER_COUNT];
  for (int index = 0; index < CS_REGISTER_COUNT; index++)
    registers[index] = (uint64_t)(uintptr_t)scratch;
  registers[CS_REGISTER_PC] = pc;
  scratch->row_pc = pc;
  return cs_cfi_step(scratch, registers, true) != CS_CFI_UNKNOWN;
}

bool cs_testing_read_frame_information(const void *bytes, size_t size, size_t header_offset, uint64_t pc_offset) {
  const uint64_t start = (uint64_t)(uintptr_t)bytes;
  const cs_cfi_image image = {.start = start, .end = start + size, .header = start + header_offset};
  cs_cfi_scratch *scratch = calloc(1, sizeof *scratch);
  const bool is_read = scratch != NULL && read_frame_information(scratch, &image, start + pc_offset);
  free(scratch);
  return is_read;
}

void cs_testing_have_old_kernel(void) {
  cs_ring_has_old_kernel = true;
}

const void *cs_testing_ring(void) {
  return cs_started_ring();
}

int cs_testing_ring_descriptor(void) {
  return cs_started_ring() != NULL ? cs_process.ring_descriptor.number : -1;
}

void cs_testing_move_task_locals(void) {
  cs_process.task_layout.locals_offset += sizeof(uint64_t);
}

#endif
