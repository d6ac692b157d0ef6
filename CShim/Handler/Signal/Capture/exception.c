// Records the C++ exception that ended the process.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "record.h"

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"

// The number of innermost frames in which the search expects a frame of libstdc++. An uncaught C++ exception calls
// std::terminate(), which calls abort().
#define FRAME_SEARCH_LIMIT 16

static bool passed_through_cxx_runtime(const cs_ring_record *record) SIGNAL_SAFE {
  for (uint32_t index = 0; index < record->frame_count && index < FRAME_SEARCH_LIMIT; index++) {
    const uint64_t pc = record->frames[index].pc;
    if (pc >= cs_process.cxx_runtime_start && pc < cs_process.cxx_runtime_end) return true;
  }
  return false;
}

// Signal safety: __cxa_current_exception_type calls __tls_get_addr, which can allocate memory. This happens only at a
// thread's first use of libstdc++'s thread-locals, if libstdc++ was loaded after the program's start. If libstdc++ is
// on the crashing stack, this thread has already used them. This function also returns early in two cases in which the
// signal can have come from inside malloc: if glibc aborts with a message, and if another thread sent SIGABRT.
void cs_record_exception(cs_ring_record *record) SIGNAL_SAFE {
  // A SIGABRT from abort() or raise() has the code SI_TKILL and this process as its sender.
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
