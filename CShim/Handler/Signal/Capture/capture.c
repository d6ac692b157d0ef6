#include "cs_platform.h"

#if CS_SUPPORTED

#include "capture.h"

#include "../Containment/containment.h"
#include "../Dispatch/finish.h"
#include "../Dispatch/hooks.h"
#include "../Dispatch/replaced_handlers.h"
#include "../FaultInjection/fault_injection.h"
#include "../Kernel/descriptors.h"
#include "../Unwind/unwind.h"
#include "record.h"
#include "request.h"

bool cs_capture_is_end(int signal, const siginfo_t *information) SIGNAL_SAFE {
  return cs_finish_is_end(signal, information) && !cs_handler_is_replaced(signal);
}

// Gives this thread its own descriptor table if the signal certainly ends the process. After that, other threads cannot
// close or reuse the descriptors of this thread. If the program can continue after the signal, the thread stays in the
// program's descriptor table. A seccomp filter can end the process at the system call that separates the tables. Except
// for SIGBUS, the caller therefore calls this function after the record is complete.
void cs_capture_take_descriptors(int signal, const siginfo_t *information, cs_crasher *crasher) SIGNAL_SAFE {
  const bool has_own_table = cs_capture_is_end(signal, information) && cs_descriptors_separate();
  if (crasher != NULL) crasher->has_own_table = has_own_table;
}

void cs_capture(cs_crasher *crasher, const siginfo_t *cause, const ucontext_t *context, uint64_t entry_ns) SIGNAL_SAFE {
  cs_ring_slot *slot = crasher->slot;
  cs_record_signal(&slot->record, crasher->tid, cause, context, entry_ns);
  cs_inject_here(CS_INJECT_REGISTERS);
  cs_record_messages(&slot->record);
  cs_record_task(&slot->record);
  cs_record_request(slot);
  if (cs_contained_is_over_budget()) slot->record.flags |= CS_RING_RECORD_BUDGET;
  cs_record_stack(slot, &crasher->scratch.memory);
  cs_record_memory(&slot->record);
  cs_inject_here(CS_INJECT_STACK);
  const cs_frame_list frames = cs_record_frames(&slot->record);
  cs_unwind(&crasher->scratch, &slot->record.registers, &frames);
  cs_unwind_find_images(&frames);
  cs_record_exception(&slot->record);
  cs_record_object_class(&slot->record);
  if (crasher->signal == SIGBUS) cs_capture_take_descriptors(crasher->signal, &crasher->information, crasher);
  cs_record_mapped_file(&slot->record);
  // A pending record is withdrawn if a handler of the program resolves the fault. The record hook, with which another
  // library adds data about the crash, can add incidents to the ring, and an incident cannot be withdrawn. The hook is
  // therefore not called for a pending record.
  if (!crasher->is_pending) cs_record_hook(&slot->record);
  cs_inject_here(CS_INJECT_COMMIT);
  cs_crasher_commit(crasher);
}

#endif
