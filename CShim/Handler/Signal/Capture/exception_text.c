// Records the message of a C++ exception. The handler does not call what(), because it is a virtual function of the
// program. Instead, it reads the message from memory. Two classes of libstdc++, and all classes derived from them,
// store a message at a known offset.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "record.h"

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"

// Offsets in libstdc++'s __cxa_exception (Itanium C++ ABI, 2.2.1; unwind-cxx.h).
#define EXCEPTION_TYPE    0
#define EXCEPTION_CLASS   80 // unwindHeader.exception_class
#define EXCEPTION_BYTES   112
#define CLASS_OF_GNU      UINT64_C(0x474e5543432b2b00) // "GNUCC++" and 0; a dependent exception ends with 1
#define CLASS_OF_GNU_MASK (~UINT64_C(1))
// The address of the thrown object in a dependent exception. std::rethrow_exception makes such an exception, which
// refers to the original one.
#define PRIMARY_EXCEPTION 0
// Offsets in a type_info.
#define TYPE_NAME         8
#define SINGLE_BASE       16
#define BASE_COUNTS       16 // flags, and the number of bases
#define BASES             24
#define BASE_BYTES        16 // each base: { type, flags and offset }
#define BASE_IS_VIRTUAL   1
#define BASE_OFFSET_SHIFT 8
// The maximum number of base classes that the search visits.
#define BASE_LIMIT 16
// Offsets in libstdc++'s reference-counted string: { length, capacity, references }, then the characters.
#define TEXT_OF_ERROR  8
#define LENGTH_OF_TEXT 24
#define TEXT_LIMIT     (UINT64_C(1) << 20)

static bool word_at(uint64_t address, uint64_t *ret_word) SIGNAL_SAFE {
  cs_memory memory = {0};
  return cs_memory_read_word(&memory, address, ret_word);
}

static bool is_named(uint64_t type, const char *name, size_t size) SIGNAL_SAFE {
  uint64_t at = 0;
  char found[24];
  return word_at(type + TYPE_NAME, &at) && cs_memory_copy(found, at, size) == size && memcmp(found, name, size) == 0;
}

static bool keeps_text(uint64_t type) SIGNAL_SAFE {
  return is_named(type, "St13runtime_error", sizeof "St13runtime_error") ||
         is_named(type, "St11logic_error", sizeof "St11logic_error");
}

// The base classes still to be searched. For each class, `object` contains the address of the class's part of the
// exception object.
typedef struct class_list {
  uint64_t type[BASE_LIMIT];
  uint64_t object[BASE_LIMIT];
  uint32_t count;
} class_list;

static void add(class_list *list, uint64_t type, uint64_t object) SIGNAL_SAFE {
  if (list->count >= BASE_LIMIT) return;
  list->type[list->count] = type;
  list->object[list->count++] = object;
}

// Adds the base classes of a class. Skips virtual bases, because the type_info does not contain their offsets in the
// object.
static void add_bases(class_list *list, uint64_t type, uint64_t object) SIGNAL_SAFE {
  uint64_t table = 0;
  uint64_t base = 0;
  uint64_t counts = 0;
  if (!word_at(type, &table)) return;
  if (table == cs_process.single_class && word_at(type + SINGLE_BASE, &base)) add(list, base, object);
  if (table != cs_process.multiple_class || !word_at(type + BASE_COUNTS, &counts)) return;
  for (uint64_t index = 0; index < counts >> 32 && index < BASE_LIMIT; index++) {
    const uint64_t at = type + BASES + index * BASE_BYTES;
    uint64_t flags = 0;
    if (!word_at(at, &base) || !word_at(at + sizeof base, &flags)) return;
    if ((flags & BASE_IS_VIRTUAL) == 0) add(list, base, object + (uint64_t)((int64_t)flags >> BASE_OFFSET_SHIFT));
  }
}

static void copy_text(cs_ring_record *record, uint64_t object) SIGNAL_SAFE {
  uint64_t text = 0;
  uint64_t length = 0;
  if (!word_at(object + TEXT_OF_ERROR, &text) || !word_at(text - LENGTH_OF_TEXT, &length)) return;
  if (length > TEXT_LIMIT || cs_memory_text_bytes(text, length + 1) != length) return;
  const size_t size = length < sizeof record->exception_text ? length : sizeof record->exception_text;
  record->exception_text_bytes = (uint32_t)cs_memory_copy(record->exception_text, text, size);
}

void cs_record_exception_text(cs_ring_record *record, uint64_t globals) SIGNAL_SAFE {
  uint64_t exception = 0;
  uint64_t kind = 0;
  uint64_t type = 0;
  uint64_t object = 0;
  // The first field of __cxa_eh_globals is the address of the exception that is being handled.
  if (!word_at(globals, &exception) || exception == 0 || !word_at(exception + EXCEPTION_CLASS, &kind)) return;
  if ((kind & CLASS_OF_GNU_MASK) != CLASS_OF_GNU) return;
  if (kind != CLASS_OF_GNU) {
    if (!word_at(exception + PRIMARY_EXCEPTION, &object)) return;
    exception = object - EXCEPTION_BYTES;
  }
  if (!word_at(exception + EXCEPTION_TYPE, &type)) return;
  class_list list = {.type = {type}, .object = {exception + EXCEPTION_BYTES}, .count = 1};
  for (uint32_t index = 0; index < list.count; index++) {
    if (keeps_text(list.type[index])) {
      copy_text(record, list.object[index]);
      return;
    }
    add_bases(&list, list.type[index], list.object[index]);
  }
}

#endif
