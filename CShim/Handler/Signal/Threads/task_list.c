#include "cs_platform.h"

#if CS_SUPPORTED

#include "task_list.h"

#include "../Deliver/deliver.h"
#include "../Dispatch/trusted.h"
#include "../Kernel/system_call.h"

#define TASK_DIRECTORY "/proc/self/task"
// Space for the first lines of a status file, which contain the name, the state and the signal masks.
#define STATUS_BYTES    1536
#define STAT_BYTES      1024
#define CALL_BYTES      256
#define FILE_NAME_LIMIT 16
// The numbers of two fields in a stat file, as proc_pid_stat(5) counts them.
#define STAT_STATE   3
#define STAT_BLOCKED 32
// The maximum number of reads of the list of threads. This number is sufficient for the maximum number of threads that
// the kernel supports.
#define READ_LIMIT 8192

// The structure that getdents64 writes.
typedef struct directory_entry {
  uint64_t inode;
  int64_t offset;
  uint16_t size;
  uint8_t type;
  char name[];
} directory_entry;

void cs_task_list_open(cs_task_list *list) SIGNAL_SAFE {
  const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  list->at = list->size = 0;
  list->directory = cs_openat(AT_FDCWD, TASK_DIRECTORY, flags, 0);
  if (cs_reserve_spend(list->directory)) list->directory = cs_openat(AT_FDCWD, TASK_DIRECTORY, flags, 0);
}

void cs_task_list_close(cs_task_list *list) SIGNAL_SAFE {
  if (list->directory >= 0) cs_close(list->directory);
  list->directory = -1;
}

// Returns 0 for a name that is not a number, for example "." and "..".
static int number_in(const char *text, size_t limit) SIGNAL_SAFE {
  int number = 0;
  for (size_t index = 0; index < limit && text[index] != 0; index++) {
    if (text[index] < '0' || text[index] > '9' || number > INT32_MAX / 10 - 1) return 0;
    number = number * 10 + (text[index] - '0');
  }
  return number;
}

int cs_task_list_next(cs_task_list *list) SIGNAL_SAFE {
  for (int entries = 0; entries < READ_LIMIT; entries++) {
    if (list->at >= list->size) {
      const long read = cs_getdents(list->directory, list->entries, sizeof list->entries);
      if (read <= 0) return 0;
      list->at = 0;
      list->size = (size_t)read;
    }
    const size_t head = offsetof(directory_entry, name);
    uint16_t size = 0;
    if (list->size - list->at <= head) return 0;
    memcpy(&size, &list->entries[list->at + offsetof(directory_entry, size)], sizeof size);
    if (size <= head || size > list->size - list->at) return 0;
    const int tid = number_in((const char *)&list->entries[list->at + head], size - head);
    list->at += size;
    if (tid > 0) return tid;
  }
  return 0;
}

static uint64_t hexadecimal(const char *text) SIGNAL_SAFE {
  uint64_t value = 0;
  for (int index = 0; index < 16; index++) {
    const char digit = text[index];
    if (digit >= '0' && digit <= '9') {
      value = value << 4 | (uint64_t)(digit - '0');
    } else if (digit >= 'a' && digit <= 'f') {
      value = value << 4 | (uint64_t)(digit - 'a' + 10);
    } else {
      break;
    }
  }
  return value;
}

// Writes the path "/proc/self/task/TID", followed by `file`, which begins with a slash.
static void path_of(int tid, const char *file, char ret_path[48]) SIGNAL_SAFE {
  char digits[12];
  int count = 0;
  do {
    digits[count++] = (char)('0' + tid % 10);
    tid /= 10;
  } while (tid > 0 && count < (int)sizeof digits);
  const size_t directory = sizeof TASK_DIRECTORY - 1;
  memcpy(ret_path, TASK_DIRECTORY "/", directory + 1);
  char *at = ret_path + directory + 1;
  while (count > 0)
    *at++ = digits[--count];
  for (int index = 0; index < FILE_NAME_LIMIT && file[index] != 0; index++)
    *at++ = file[index];
  *at = 0;
}

// Reads a file of the thread's directory in /proc as a string that ends with a NUL. Returns false if the thread has
// ended, or if the file cannot be read.
static bool read_text(int tid, const char *file, char *ret_text, size_t size) SIGNAL_SAFE {
  char path[48];
  path_of(tid, file, path);
  int descriptor = cs_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (cs_reserve_spend(descriptor)) descriptor = cs_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (descriptor < 0) return false;
  const long read = cs_read(descriptor, ret_text, size - 1);
  cs_close(descriptor);
  if (read <= 0) return false;
  ret_text[read] = 0;
  return true;
}

// Returns the rest of the line that starts with `label`, or NULL if there is no such line. `text` ends with a line feed
// and a NUL.
static const char *line_after(const char *text, const char *label, size_t label_bytes) SIGNAL_SAFE {
  for (const char *at = text; *at != 0; at++) {
    const bool is_start = at == text || at[-1] == '\n';
    size_t same = 0;
    while (is_start && same < label_bytes && at[same] == label[same])
      same++;
    if (same == label_bytes) return at + label_bytes;
  }
  return NULL;
}

void cs_task_status_read(int tid, cs_task_status *ret_status) SIGNAL_SAFE {
  char text[STATUS_BYTES];
  if (!read_text(tid, "/status", text, sizeof text)) return;
  const char *name = line_after(text, "Name:\t", 6);
  for (int index = 0; name != NULL && index < 15 && name[index] != '\n' && name[index] != 0; index++)
    ret_status->name[index] = (uint8_t)name[index];
  const char *state = line_after(text, "State:\t", 7);
  if (state != NULL) ret_status->run_state = (uint8_t)state[0];
  const char *pending = line_after(text, "SigPnd:\t", 8);
  if (pending != NULL) ret_status->pending_signals = hexadecimal(pending);
  const char *blocked = line_after(text, "SigBlk:\t", 8);
  if (blocked != NULL) ret_status->blocked_signals = hexadecimal(blocked);
}

// Skips a number of fields, which are separated by single spaces. Returns NULL if the line has fewer fields.
static const char *field(const char *text, int skipped) SIGNAL_SAFE {
  while (*text != 0 && skipped > 0) {
    if (*text++ == ' ') skipped--;
  }
  return *text != 0 ? text : NULL;
}

static uint64_t decimal(const char *text) SIGNAL_SAFE {
  uint64_t value = 0;
  for (int index = 0; index < 20 && text[index] >= '0' && text[index] <= '9'; index++)
    value = value * 10 + (uint64_t)(text[index] - '0');
  return value;
}

bool cs_task_wait_read(int tid, cs_task_wait *ret_wait) SIGNAL_SAFE {
  char text[STAT_BYTES];
  if (!read_text(tid, "/stat", text, sizeof text)) return false;
  // The thread's name can contain spaces and parentheses, but the fields after the name contain no parentheses. The
  // last parenthesis therefore ends the name.
  const char *rest = NULL;
  for (const char *at = text; *at != 0; at++) {
    if (at[0] == ')' && at[1] == ' ') rest = at + 2;
  }
  const char *blocked = rest == NULL ? NULL : field(rest, STAT_BLOCKED - STAT_STATE);
  if (blocked == NULL) return false;
  *ret_wait = (cs_task_wait){.blocked_signals = (uint32_t)decimal(blocked), .run_state = (uint8_t)rest[0]};
  return true;
}

bool cs_task_call_read(int tid, cs_task_call *ret_call) SIGNAL_SAFE {
  char text[CALL_BYTES];
  if (!read_text(tid, "/syscall", text, sizeof text)) return false;
  *ret_call = (cs_task_call){.number = UINT64_MAX};
  // The file `syscall` of a thread begins with the number of the system call in which the thread waits. If the thread
  // is running, the file contains the word "running" instead. If the number is -1, the thread waits outside of a system
  // call.
  if (text[0] < '0' || text[0] > '9') return true;
  cs_task_call call = {.number = decimal(text)};
  for (int index = 0; index < 4; index++) {
    const char *argument = field(text, 1 + index);
    if (argument == NULL || argument[0] != '0' || argument[1] != 'x') return false;
    call.arguments[index] = hexadecimal(argument + 2);
  }
  *ret_call = call;
  return true;
}

bool cs_task_waits_in(int tid, const char *part) SIGNAL_SAFE {
  char text[CALL_BYTES];
  if (!read_text(tid, "/wchan", text, sizeof text)) return false;
  for (const char *at = text; *at != 0; at++) {
    size_t same = 0;
    while (part[same] != 0 && at[same] == part[same])
      same++;
    if (part[same] == 0) return true;
  }
  return false;
}

// The file `syscall` contains the word "running", or a list of numbers. The last two numbers are the stack pointer and
// the program counter.
long cs_task_stack_pointer(int tid, uint64_t *ret_stack_pointer) SIGNAL_SAFE {
  char path[48];
  char text[CALL_BYTES];
  path_of(tid, "/syscall", path);
  // If no descriptor is free, this function fails: the shield's reserved descriptor is only for crashes.
  const int file = cs_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return file;
  long size = cs_read(file, text, sizeof text - 1);
  cs_close(file);
  if (size <= 0) return size < 0 ? size : -EAGAIN;
  text[size] = 0;
  for (int number = 0; number < 2; number++) {
    while (size > 0 && text[size] != 'x')
      size--;
    if (size == 0) return -EAGAIN;
    if (number == 0) size--;
  }
  *ret_stack_pointer = hexadecimal(&text[size + 1]);
  return 0;
}

#endif
