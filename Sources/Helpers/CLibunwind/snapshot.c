#include "cs_snapshot.h"
#include "machine.h"
#include <string.h>

#if defined(__aarch64__)
enum { NATIVE = CS_SNAPSHOT_AARCH64 };
#else
enum { NATIVE = CS_SNAPSHOT_X86_64 };
#endif

enum cs_snapshot_stop cs_snapshot_unwind(const struct cs_snapshot *snapshot, struct cs_snapshot_frame *ret_frames,
                                         size_t capacity, size_t *ret_count) {
  *ret_count = 0;
  if (capacity == 0) return CS_SNAPSHOT_STOP_LIMIT;
  const struct cs_snapshot_machine *machine = cs_snapshot_machine_of(snapshot->architecture);
  if (!machine) return CS_SNAPSHOT_STOP_NO_CALLER;
  struct cs_snapshot_start start = {.behind = snapshot->is_past_fault ? 1 : 0, .found = CS_SNAPSHOT_FOUND_CONTEXT};
  memcpy(start.registers, snapshot->registers, sizeof start.registers);
  if (cs_snapshot_leave_bad_call(snapshot, start.registers)) {
    ret_frames[(*ret_count)++] =
        (struct cs_snapshot_frame){.pc = snapshot->registers[machine->pc], .found = CS_SNAPSHOT_FOUND_CONTEXT};
    start.behind = 1;
    start.found = CS_SNAPSHOT_FOUND_SCAN;
  }
  return snapshot->architecture == NATIVE
             ? cs_snapshot_unwind_native(snapshot, &start, ret_frames, capacity, ret_count)
             : cs_snapshot_unwind_foreign(snapshot, &start, ret_frames, capacity, ret_count);
}

void cs_snapshot_prepare(void) {
  cs_snapshot_prepare_native();
}
