// Records the C++ exception that ended the process.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "record.h"

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"

// terminate() calls abort(), so libstdc++'s frames are among the first frames of the stack.
#define FRAME_SEARCH_LIMIT 16

static bool passed_through_cxx_runtime(const cs_ring_record *record) SIGNAL_SAFE {
  for (uint32_t index = 0; index < record->frame_count && index < FRAME_SEARCH_LIMIT; index++) {
    const uint64_t pc = record->frames[index].pc;
    if (pc >= cs_process.cxx_runtime_start && pc < cs_process.cxx_runtime_end) return true;
  }
  return false;
}

// Signal safety: __cxa_current_exception_type calls __tls_get_addr. If libstdc++ was loaded late, __tls_get_addr
// allocates memory when a thread first uses libstdc++'s thread-locals. If libstdc++ is on the crashing stack, this
// thread has already used these thread-locals. The function returns early in two cases. If glibc aborts with a message,
// the cause is not C++, and the abort may come from inside malloc. If another thread sent SIGABRT, the signal may have
// interrupted malloc on this thread.
void cs_record_exception(cs_ring_record *record) SIGNAL_SAFE {
  // abort() and raise() of this process send SIGABRT with the code SI_TKILL.
  const bool is_own = record->signal == SIGABRT && record->code == SI_TKILL && record->sender_pid == record->pid;
  const bool may_be_exception =
      is_own && record->abort_bytes == 0 && cs_process.cxx_runtime_end != 0 && passed_through_cxx_runtime(record);
  if (!may_be_exception) return;
  const uint64_t type = (uint64_t)(uintptr_t)cs_process.exception_type();
  cs_memory memory = {0};
  uint64_t name = 0;
  // A type_info consists of { address of the virtual table, address of the name }.
  if (type == 0 || !cs_memory_read_word(&memory, type + 8, &name)) return;
  const size_t size = cs_memory_text_bytes(name, sizeof record->exception);
  record->exception_bytes = (uint32_t)cs_memory_copy(record->exception, name, size);
  if (!cs_process.exception_globals) return;
  cs_record_exception_text(record, (uint64_t)(uintptr_t)cs_process.exception_globals());
}

#endif
