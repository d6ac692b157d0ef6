#include "cs_platform.h"

#if CS_SUPPORTED

#include "task.h"

#include "../Dispatch/trusted.h"
#include "../Kernel/memory.h"
#include "registers_here.h"

// Offsets in AsyncTask of the Swift 6 runtimes. cs_task_layout_find() compares TASK_STATUS, and TASK_FLAGS with
// TASK_HAS_NAME, with instructions of the runtime that contain them. The other offsets are not checked.
#define TASK_KIND     0x20 // 0: the job is a task
#define TASK_FLAGS    0x23
#define TASK_HAS_NAME 0x40
#define TASK_ID       0x24
#define TASK_STATUS   0x60 // the lowest byte is the current priority, after escalation
#define TASK_RECORDS  0x68
// Offsets in a TaskStatusRecord: { kind, parent, … }.
#define RECORD_PARENT  8
#define RECORD_TEXT    16
#define RECORD_IS_NAME 6
#define RECORD_LIMIT   64
// An entry in the list of task-local values: { next and kind, key, type, value }. The list of a child task ends with a
// link to the list of its parent.
#define LOCAL_KEY         8
#define LOCAL_VALUE       24
#define LOCAL_KIND_MASK   UINT64_C(7)
#define LOCAL_IS_LINK     UINT64_C(4) // has no value
#define LOCAL_ENDS_SEARCH UINT64_C(6) // has no value, and hides the entries after it
#define LOCAL_LIMIT       1024

// glibc's dtv has an entry for each module. The word before the first entry contains the length of dtv.
#define DTV_ENTRY  16
#define DTV_UNUSED UINT64_MAX

// Returns the same address as __tls_get_addr, but never allocates. __tls_get_addr allocates if the thread has not used
// the library's variables before.
static bool address_of_variable(cs_memory *memory, const cs_task_layout *layout, int64_t of_variable,
                                uint64_t *ret_address) SIGNAL_SAFE {
  uint64_t vector = 0;
  uint64_t length = 0;
  uint64_t module = 0;
  uint64_t offset = 0;
  uint64_t block = 0;
  if (layout->tls_index == 0) {
    *ret_address = cs_thread_pointer() + (uint64_t)of_variable;
    return true;
  }
  if (!cs_memory_read_word(memory, layout->tls_index, &module)) return false;
  if (!cs_memory_read_word(memory, layout->tls_index + 8, &offset)) return false;
  if (!cs_memory_read_word(memory, cs_thread_pointer() + CS_THREAD_DTV, &vector)) return false;
  if (!cs_memory_read_word(memory, vector - DTV_ENTRY, &length) || module == 0 || module > length) return false;
  if (!cs_memory_read_word(memory, vector + module * DTV_ENTRY, &block)) return false;
  *ret_address = block + offset + (uint64_t)of_variable;
  return block != 0 && block != DTV_UNUSED;
}

static uint32_t read_name(cs_memory *memory, uint64_t task, uint8_t *ret_name) SIGNAL_SAFE {
  uint64_t record = 0;
  uint64_t kind = 0;
  uint64_t text = 0;
  if (!cs_memory_read_word(memory, task + TASK_RECORDS, &record)) return 0;
  for (int count = 0; count < RECORD_LIMIT && record != 0; count++) {
    if (!cs_memory_read_word(memory, record, &kind)) return 0;
    if ((kind & 0xff) == RECORD_IS_NAME) {
      if (!cs_memory_read_word(memory, record + RECORD_TEXT, &text)) return 0;
      const size_t size = cs_memory_text_bytes(text, CS_RING_TASK_NAME_LIMIT_BYTES);
      return (uint32_t)cs_memory_copy(ret_name, text, size);
    }
    if (!cs_memory_read_word(memory, record + RECORD_PARENT, &record)) return 0;
  }
  return 0;
}

// Finds the task of the calling thread. Also stores the word at TASK_KIND, which contains the task's flags and ID.
static bool task_here(cs_memory *memory, const cs_task_layout *layout, uint64_t *ret_task,
                      uint64_t *ret_job) SIGNAL_SAFE {
  uint64_t variable = 0;
  if (!layout->is_known || !address_of_variable(memory, layout, layout->offset, &variable)) return false;
  if (!cs_memory_read_word(memory, variable, ret_task) || *ret_task == 0) return false;
  return cs_memory_read_word(memory, *ret_task + TASK_KIND, ret_job) && (*ret_job & 0xff) == 0;
}

bool cs_task_read(const cs_task_layout *layout, uint32_t *ret_id, uint32_t *ret_priority,
                  uint8_t ret_name[CS_RING_TASK_NAME_LIMIT_BYTES], uint32_t *ret_name_bytes) SIGNAL_SAFE {
  cs_memory memory = {0};
  uint64_t task = 0;
  uint64_t job = 0;
  uint64_t status = 0;
  if (!task_here(&memory, layout, &task, &job)) return false;
  if (!cs_memory_read_word(&memory, task + TASK_STATUS, &status)) return false;
  *ret_id = (uint32_t)(job >> 8 * (TASK_ID - TASK_KIND));
  *ret_priority = (uint32_t)(status & 0xff);
  const bool has_name = layout->has_names && (job >> 8 * (TASK_FLAGS - TASK_KIND) & TASK_HAS_NAME) != 0;
  *ret_name_bytes = has_name ? read_name(&memory, task, ret_name) : 0;
  return true;
}

cs_task_local cs_task_local_read(const cs_task_layout *layout, uint64_t key, uint32_t nth,
                                 uint64_t *ret_word) SIGNAL_SAFE {
  cs_memory memory = {0};
  uint64_t task = 0;
  uint64_t job = 0;
  uint64_t item = 0;
  uint64_t next = 0;
  uint64_t item_key = 0;
  if (!task_here(&memory, layout, &task, &job)) return CS_TASK_LOCAL_NO_TASK;
  if (!cs_memory_read_word(&memory, task + layout->locals_offset, &item)) return CS_TASK_LOCAL_ABSENT;
  for (int count = 0; count < LOCAL_LIMIT && item != 0; count++, item = next & ~LOCAL_KIND_MASK) {
    if (!cs_memory_read_word(&memory, item, &next)) break;
    if ((next & LOCAL_ENDS_SEARCH) == LOCAL_ENDS_SEARCH) break;
    if ((next & LOCAL_IS_LINK) != 0) continue;
    if (!cs_memory_read_word(&memory, item + LOCAL_KEY, &item_key)) break;
    if (item_key != key || nth-- > 0) continue;
    return cs_memory_read_word(&memory, item + LOCAL_VALUE, ret_word) ? CS_TASK_LOCAL_FOUND : CS_TASK_LOCAL_ABSENT;
  }
  return CS_TASK_LOCAL_ABSENT;
}

// The runtime's thread-local variable contains the address of a structure, whose first word is the executor's identity.
// The structure exists while the thread runs jobs.
bool cs_task_executor_read(const cs_task_layout *layout, uint64_t *ret_executor) SIGNAL_SAFE {
  cs_memory memory = {0};
  uint64_t variable = 0;
  uint64_t tracking = 0;
  if (!layout->has_executor || !address_of_variable(&memory, layout, layout->executor_offset, &variable)) return false;
  if (!cs_memory_read_word(&memory, variable, &tracking) || tracking == 0) return false;
  return cs_memory_read_word(&memory, tracking, ret_executor);
}

#endif
