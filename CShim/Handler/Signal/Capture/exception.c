// Records the C++ exception that ended the process.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "record.h"

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"

// terminate() calls abort(). If a C++ exception ended the process, frames of libstdc++ are therefore among the first
// frames of the stack.
#define FRAME_SEARCH_LIMIT 16

static bool passed_through_cxx_runtime(const cs_ring_record *record) SIGNAL_SAFE {
  for (uint32_t index = 0; index < record->frame_count && index < FRAME_SEARCH_LIMIT; index++) {
    const uint64_t pc = record->frames[index].pc;
    if (pc >= cs_process.cxx_runtime_start && pc < cs_process.cxx_runtime_end) return true;
  }
  return false;
}

// Signal safety: __cxa_current_exception_type calls __tls_get_addr, which can allocate memory. This happens when a
// thread first uses libstdc++'s thread-locals and libstdc++ was loaded after the program's start. If libstdc++ is on
// the crashing stack, this thread has already used these thread-locals. This function returns early in two further
// cases. If glibc aborts with a message, C++ did not end the process, and the abort can come from inside malloc. If
// another thread sent SIGABRT, the signal can have interrupted malloc on this thread.
void cs_record_exception(cs_ring_record *record) SIGNAL_SAFE {
  // If abort() or raise() of this process sent SIGABRT, the signal has the code SI_TKILL.
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
