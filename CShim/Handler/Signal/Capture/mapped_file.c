// Finds the mapped file that caused a SIGBUS. The kernel sends SIGBUS if the faulting page is beyond the end of the
// file, or if the kernel could not read the page from the file. The path comes from the kernel's list of mappings
// (/proc/self/maps), because the shield's own list of images contains only the executable and its libraries, not data
// files.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "record.h"

#include "../Deliver/deliver.h"
#include "../Dispatch/trusted.h"
#include "../Kernel/system_call.h"

#define MAPS "/proc/self/maps"
// A line of /proc/self/maps has about 100 bytes, so one read returns several lines.
#define READ_BYTES 512
#define READ_LIMIT 8192
// The size of the line buffer. If a line of /proc/self/maps is longer, its end is cut off.
#define LINE_BYTES 640

typedef struct line {
  char text[LINE_BYTES];
  size_t size;
} line;

static uint64_t take_hexadecimal(const char **at) SIGNAL_SAFE {
  uint64_t value = 0;
  for (;; (*at)++) {
    const char digit = **at;
    if (digit >= '0' && digit <= '9') {
      value = value << 4 | (uint64_t)(digit - '0');
    } else if (digit >= 'a' && digit <= 'f') {
      value = value << 4 | (uint64_t)(digit - 'a' + 10);
    } else {
      return value;
    }
  }
}

static void skip_field(const char **at) SIGNAL_SAFE {
  while (**at == ' ')
    (*at)++;
  while (**at != ' ' && **at != 0)
    (*at)++;
}

static void append_decimal(cs_ring_record *record, uint64_t number) SIGNAL_SAFE {
  char digits[20];
  size_t count = 0;
  do {
    digits[count++] = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  while (count > 0)
    record->exception_text[record->exception_text_bytes++] = (uint8_t)digits[--count];
}

// Parses a line "START-END PERMISSIONS OFFSET DEVICE INODE PATH" (proc(5)). If the address of the fault is in this
// mapping, records the file offset and the path of the mapped file, if there is one, and returns true.
static bool take(const line *line, cs_ring_record *record) SIGNAL_SAFE {
  const char *at = line->text;
  const uint64_t start = take_hexadecimal(&at);
  if (*at != '-') return false;
  at++;
  const uint64_t end = take_hexadecimal(&at);
  if (record->address < start || record->address >= end) return false;
  skip_field(&at);
  while (*at == ' ')
    at++;
  const uint64_t offset = take_hexadecimal(&at);
  skip_field(&at);
  skip_field(&at);
  while (*at == ' ')
    at++;
  // If the line contains no path that starts with a slash, the mapping is the heap, a stack or anonymous memory.
  if (*at != '/') return true;
  append_decimal(record, offset + (record->address - start));
  record->exception_text[record->exception_text_bytes++] = ' ';
  while (*at != 0 && record->exception_text_bytes < sizeof record->exception_text)
    record->exception_text[record->exception_text_bytes++] = (uint8_t)*at++;
  record->flags |= CS_RING_RECORD_FILE;
  return true;
}

static void search(int file, cs_ring_record *record) SIGNAL_SAFE {
  char text[READ_BYTES] = {0};
  line line = {.size = 0};
  for (int piece = 0; piece < READ_LIMIT; piece++) {
    const long size = cs_read(file, text, sizeof text);
    if (size <= 0) return;
    for (long index = 0; index < size; index++) {
      if (text[index] != '\n') {
        if (line.size < sizeof line.text - 1) line.text[line.size++] = text[index];
        continue;
      }
      line.text[line.size] = 0;
      if (take(&line, record)) return;
      line.size = 0;
    }
  }
}

void cs_record_mapped_file(cs_ring_record *record) SIGNAL_SAFE {
  if (record->signal != SIGBUS || record->code <= 0) return;
  int file = cs_openat(AT_FDCWD, MAPS, O_RDONLY | O_CLOEXEC, 0);
  if (cs_reserve_spend(file)) file = cs_openat(AT_FDCWD, MAPS, O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return;
  search(file, record);
  cs_close(file);
}

#endif
