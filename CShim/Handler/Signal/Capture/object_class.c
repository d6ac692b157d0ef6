// Determines the class of the object in the Swift runtime's message "… unowned reference but object 0x… was already
// destroyed". The runtime has not yet freed the memory of this object, so the first word of the object still points to
// the metadata of its class. The class's descriptor contains the name (Swift's ABI: docs/ABI/TypeMetadata.rst, "Class
// Metadata" and "Nominal Type Descriptor"). Each step checks the value that it has read. If a value is not as expected,
// no class is recorded.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "record.h"

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"

#define MARK "object 0x"
// Values and offsets in metadata.
#define KIND_OF_CLASS 0 // the value on platforms without Objective-C
#define DESCRIPTOR    40
// Offsets in a context descriptor: { flags, parent, name }. The parent and the name are stored as offsets relative to
// the addresses of their fields.
#define PARENT        4
#define NAME          8
#define KIND_MASK     0x1f
#define MODULE        0
#define EXTENSION     1
#define ANONYMOUS     2
#define CLASS         16
#define LAST_OF_TYPES 31
// If the parent is in another image, the field `parent` refers to a pointer to the parent.
#define IS_INDIRECT 1
#define DEPTH_LIMIT 8
#define NAME_LIMIT  128

static uint64_t object_in(const cs_ring_record *record) SIGNAL_SAFE {
  const size_t mark = sizeof MARK - 1;
  for (size_t at = 0; at + mark < record->message_bytes; at++) {
    if (memcmp(record->message + at, MARK, mark) != 0) continue;
    uint64_t address = 0;
    for (at += mark; at < record->message_bytes; at++) {
      const uint8_t digit = record->message[at];
      if (digit >= '0' && digit <= '9') {
        address = address << 4 | (uint64_t)(digit - '0');
      } else if (digit >= 'a' && digit <= 'f') {
        address = address << 4 | (uint64_t)(digit - 'a' + 10);
      } else {
        break;
      }
    }
    return address;
  }
  return 0;
}

static bool word_at(uint64_t address, uint64_t *ret_word) SIGNAL_SAFE {
  cs_memory memory = {0};
  return (address & 7) == 0 && address >= CS_PAGE_BYTES && cs_memory_read_word(&memory, address, ret_word);
}

static bool number_at(uint64_t address, int32_t *ret_number) SIGNAL_SAFE {
  return cs_memory_copy(ret_number, address, sizeof *ret_number) == sizeof *ret_number;
}

// Returns the address to which a field with a relative offset refers.
static bool target_of(uint64_t field, uint64_t *ret_target) SIGNAL_SAFE {
  int32_t distance = 0;
  if (!number_at(field, &distance) || distance == 0) return false;
  *ret_target = field + (uint64_t)(int64_t)(distance & ~IS_INDIRECT);
  return (distance & IS_INDIRECT) == 0 || word_at(*ret_target, ret_target);
}

// Appends a name, with a dot before every name except the first. Returns false if the name is invalid.
static bool append_name(cs_ring_record *record, uint64_t descriptor) SIGNAL_SAFE {
  uint8_t name[NAME_LIMIT];
  uint64_t text = 0;
  if (!target_of(descriptor + NAME, &text)) return false;
  const size_t size = cs_memory_text_bytes(text, sizeof name);
  if (size == 0 || size == sizeof name || cs_memory_copy(name, text, size) != size) return false;
  const uint32_t start = record->exception_text_bytes;
  if (start + 1 + size > sizeof record->exception_text) return false;
  for (size_t index = 0; index < size; index++)
    if (name[index] <= ' ' || name[index] == 0x7f) return false;
  if (start > 0) record->exception_text[record->exception_text_bytes++] = '.';
  memcpy(record->exception_text + record->exception_text_bytes, name, size);
  record->exception_text_bytes += (uint32_t)size;
  return true;
}

// Lists the descriptors that have a name, from the class to its enclosing types and the module. Returns 0 if the list
// of parents ends before a module.
static int contexts_of(uint64_t descriptor, uint64_t named[DEPTH_LIMIT]) SIGNAL_SAFE {
  int count = 0;
  for (int depth = 0; depth < 2 * DEPTH_LIMIT; depth++) {
    int32_t flags = 0;
    if (!number_at(descriptor, &flags)) return 0;
    const int kind = flags & KIND_MASK;
    if (depth == 0 && kind != CLASS) return 0;
    if (kind != EXTENSION && kind != ANONYMOUS) {
      if ((kind != MODULE && kind < CLASS) || kind > LAST_OF_TYPES || count == DEPTH_LIMIT) return 0;
      named[count++] = descriptor;
      if (kind == MODULE) return count;
    }
    if (!target_of(descriptor + PARENT, &descriptor)) return 0;
  }
  return 0;
}

void cs_record_object_class(cs_ring_record *record) SIGNAL_SAFE {
  if (record->signal != SIGABRT || record->exception_bytes > 0) return;
  uint64_t metadata = 0;
  uint64_t kind = 0;
  uint64_t descriptor = 0;
  uint64_t named[DEPTH_LIMIT];
  const uint64_t object = object_in(record);
  if (object == 0 || !word_at(object, &metadata) || !word_at(metadata, &kind) || kind != KIND_OF_CLASS ||
      !word_at(metadata + DESCRIPTOR, &descriptor)) {
    return;
  }
  record->exception_text_bytes = 0;
  for (int index = contexts_of(descriptor, named) - 1; index >= 0; index--) {
    if (append_name(record, named[index])) {
      record->flags |= CS_RING_RECORD_CLASS;
      continue;
    }
    record->flags &= ~CS_RING_RECORD_CLASS;
    record->exception_text_bytes = 0;
    return;
  }
}

#endif
