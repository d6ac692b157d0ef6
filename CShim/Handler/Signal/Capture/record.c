#include "cs_platform.h"

#if CS_SUPPORTED

#include "record.h"

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "../Images/images.h"
#include "../Kernel/system_call.h"
#include "cs_shim.h"
#include "registers.h"

static void record_sender(cs_ring_record *record, const siginfo_t *information) SIGNAL_SAFE {
  record->system_call = -1;
  if (information->si_code <= 0) {
    record->sender_pid = information->si_pid;
    record->sender_uid = information->si_uid;
  } else if (information->si_signo == SIGSYS) {
    record->address = (uint64_t)(uintptr_t)information->si_call_addr;
    record->system_call = information->si_syscall;
  } else {
    record->address = (uint64_t)(uintptr_t)information->si_addr;
  }
}

void cs_record_signal(cs_ring_record *record, int tid, const siginfo_t *information, const ucontext_t *context,
                      uint64_t entry_ns) SIGNAL_SAFE {
  record->time_ns = cs_clock_ns(CLOCK_REALTIME);
  record->entry_ns = entry_ns;
  record->pid = cs_getpid();
  record->tid = tid;
  record->signal = information->si_signo;
  record->code = information->si_code;
  record_sender(record, information);
  cs_registers_from_context(context, &record->registers);
  const bool is_fault = information->si_code > 0 ? cs_registers_belong_to(information->si_signo, information->si_code)
                                                 : cs_context_shows_fault(context);
  if (!is_fault) {
    // The signal was sent, for example by raise(), or faults of this kind set no error code, trap number and fault
    // address. The kernel then reports the values of an earlier fault, which the thread survived. These values are
    // therefore cleared.
    record->registers.error_code = record->registers.trap_number = record->registers.fault_address = 0;
  }
  cs_thread_name((char *)record->thread_name);

  const uint64_t pc = record->registers.general[CS_REGISTER_PC];
  // Records the instruction bytes at the pc. If the thread jumped to an address that is not code, these bytes are data
  // of the program, which the memory mode "none" excludes.
  if (cs_memory_mode() != CS_RING_MEMORY_NONE || !cs_registers_show_bad_fetch(&record->registers)) {
    record->instruction_bytes = (uint32_t)cs_memory_copy(record->instruction, pc, sizeof record->instruction);
  }
  // This first frame contains only the pc. The unwinder replaces it later. If unwinding fails, the record contains at
  // least the location of the crash.
  record->frames[0] = (cs_ring_frame){
      .pc = pc, .trust = CS_RING_TRUST_CONTEXT, .flags = CS_RING_FRAME_EXACT, .image = cs_image_index(pc)};
  record->frame_count = record->frame_head = record->frame_total = 1;
  record->unwind_stop = CS_UNWIND_STOP_NO_CALLER;
}

void cs_record_task(cs_ring_record *record) SIGNAL_SAFE {
  if (!cs_task_read(&cs_process.task_layout, &record->task_id, &record->task_priority, record->task_name,
                    &record->task_name_bytes)) {
    return;
  }
  record->flags |= CS_RING_RECORD_TASK;
}

#endif
