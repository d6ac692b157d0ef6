// Finds the FDE (the table of one function, cfi.h) for a pc with a binary search in .eh_frame_hdr, and parses the
// beginning of the FDE and of its CIE.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "cfi.h"

#include "cfi_reader.h"

// The bounds of the executable's segment with its unwind tables. They do not change after the handlers are installed. A
// library does not need such bounds, because the loader maps it as one contiguous range.
static uint64_t tables_start;
static uint64_t tables_end;

void cs_cfi_set_tables(uint64_t start, uint64_t end) {
  tables_start = start;
  tables_end = end;
}

bool cs_cfi_image_of(uint64_t pc, cs_cfi_image *ret_image) SIGNAL_SAFE {
  struct dl_find_object object;
  if (_dl_find_object((void *)(uintptr_t)pc, &object) != 0 || object.dlfo_eh_frame == NULL) return false;
  *ret_image = (cs_cfi_image){
      .start = (uint64_t)(uintptr_t)object.dlfo_map_start,
      .end = (uint64_t)(uintptr_t)object.dlfo_map_end,
      .header = (uint64_t)(uintptr_t)object.dlfo_eh_frame,
  };
  const bool is_within = ret_image->header >= ret_image->start && ret_image->header < ret_image->end;
  if (!is_within && ret_image->header >= tables_start && ret_image->header < tables_end) {
    ret_image->start = tables_start;
    ret_image->end = tables_end;
  }
  return true;
}

static cs_cfi_reader reader_in(const cs_cfi_image *image, uint64_t address) SIGNAL_SAFE {
  const uint8_t *end = (const uint8_t *)(uintptr_t)image->end;
  cs_cfi_reader reader = cs_cfi_reader_make((const uint8_t *)(uintptr_t)address, end);
  if (address < image->start || address >= image->end) reader.is_bad = true;
  return reader;
}

// An entry of the search table: the start address of a function and the address of its FDE, both relative to the
// header's address.
typedef struct table_row {
  int32_t start;
  int32_t entry;
} table_row;

static table_row row_at(const uint8_t *table, uint64_t index) SIGNAL_SAFE {
  table_row row;
  memcpy(&row, table + index * sizeof row, sizeof row);
  return row;
}

// Returns the address of the last FDE whose function starts at or before `pc`, or 0 if there is no such FDE.
static uint64_t search(const cs_cfi_image *image, uint64_t pc) SIGNAL_SAFE {
  cs_cfi_reader reader = reader_in(image, image->header);
  const uint8_t version = cs_cfi_byte(&reader);
  const uint8_t section_encoding = cs_cfi_byte(&reader);
  const uint8_t count_encoding = cs_cfi_byte(&reader);
  const uint8_t table_encoding = cs_cfi_byte(&reader);
  if (reader.is_bad || version != 1 || table_encoding != CS_ENCODING_DATA_SDATA4) return 0;
  cs_cfi_pointer(&reader, section_encoding, image->header);
  const uint64_t count = cs_cfi_pointer(&reader, count_encoding, image->header);
  if (reader.is_bad || count == 0) return 0;
  if (count > (uint64_t)(reader.end - reader.at) / sizeof(table_row)) return 0;

  const int64_t wanted = (int64_t)(pc - image->header);
  if (row_at(reader.at, 0).start > wanted) return 0;
  uint64_t low = 0;
  uint64_t high = count;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    if (row_at(reader.at, middle).start <= wanted) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return image->header + (uint64_t)(int64_t)row_at(reader.at, low).entry;
}

// Opens the CIE or FDE at `address`. Returns a reader for the bytes after its length field.
static cs_cfi_reader open_entry(const cs_cfi_image *image, uint64_t address) SIGNAL_SAFE {
  cs_cfi_reader reader = reader_in(image, address);
  const uint64_t size = cs_cfi_fixed(&reader, 4);
  // The length 0 marks the end of a section. The length 0xffffffff marks the 64-bit form, which compilers do not
  // generate in .eh_frame.
  if (size == 0 || size == UINT32_MAX) reader.is_bad = true;
  if (reader.is_bad || size > (uint64_t)(reader.end - reader.at)) {
    reader.is_bad = true;
  } else {
    reader.end = reader.at + size;
  }
  return reader;
}

// Reads the augmentation data of a CIE. The letters of the augmentation string declare its parts: 'R' is the pointer
// encoding, 'P' the personality routine, 'L' the encoding of the LSDA pointer. 'S' marks a signal frame and has no
// data.
static bool read_augmentation(cs_cfi_reader *cie, const char *letters, size_t letter_count,
                              cs_cfi_function *function) SIGNAL_SAFE {
  const uint64_t size = cs_cfi_uleb(cie);
  if (cie->is_bad || size > (uint64_t)(cie->end - cie->at)) return false;
  cs_cfi_reader data = cs_cfi_reader_make(cie->at, cie->at + size);
  for (size_t index = 1; index < letter_count; index++) {
    switch (letters[index]) {
    case 'R':
      function->pointer_encoding = cs_cfi_byte(&data);
      break;
    case 'P': {
      // Skips the address of the personality routine. cs_cfi_pointer() refuses an indirect address, so its flag is
      // removed: an indirect address has the same size as a direct one.
      const uint8_t encoding = cs_cfi_byte(&data);
      cs_cfi_pointer(&data, encoding & (uint8_t)~CS_ENCODING_INDIRECT, 0);
      break;
    }
    case 'L':
      cs_cfi_byte(&data);
      break;
    case 'S':
      function->is_signal_frame = true;
      break;
    case 'B': // aarch64: pointers signed with key B; no data
    case 'G': // memory tagged frames; no data
      break;
    default:
      return false;
    }
  }
  cs_cfi_skip(cie, size);
  return !data.is_bad && !cie->is_bad;
}

static bool read_cie(const cs_cfi_image *image, uint64_t address, cs_cfi_function *function,
                     bool *ret_has_augmentation) SIGNAL_SAFE {
  cs_cfi_reader cie = open_entry(image, address);
  if (cs_cfi_fixed(&cie, 4) != 0) return false;
  const uint8_t version = cs_cfi_byte(&cie);
  if (cie.is_bad || (version != 1 && version != 3)) return false;

  const char *letters = (const char *)cie.at;
  size_t letter_count = 0;
  while (!cie.is_bad && cs_cfi_byte(&cie) != 0)
    letter_count++;
  function->code_alignment = cs_cfi_uleb(&cie);
  function->data_alignment = cs_cfi_sleb(&cie);
  const uint64_t return_register = version == 1 ? cs_cfi_byte(&cie) : cs_cfi_uleb(&cie);
  if (cie.is_bad || return_register >= CS_REGISTER_COUNT) return false;
  function->return_register = (uint8_t)return_register;
  function->pointer_encoding = 0;
  function->is_signal_frame = false;

  *ret_has_augmentation = letter_count > 0;
  if (letter_count > 0) {
    if (letters[0] != 'z' || !read_augmentation(&cie, letters, letter_count, function)) return false;
  }
  function->initial_instructions = cie.at;
  function->initial_end = cie.end;
  return !cie.is_bad;
}

bool cs_cfi_find(const cs_cfi_image *image, uint64_t pc, cs_cfi_function *ret_function) SIGNAL_SAFE {
  const uint64_t entry = search(image, pc);
  if (entry == 0) return false;
  cs_cfi_reader fde = open_entry(image, entry);
  const uint64_t place = (uint64_t)(uintptr_t)fde.at;
  const uint64_t distance = cs_cfi_fixed(&fde, 4);
  if (fde.is_bad || distance == 0) return false;

  cs_cfi_function function;
  bool has_augmentation = false;
  if (!read_cie(image, place - distance, &function, &has_augmentation)) return false;
  function.start = cs_cfi_pointer(&fde, function.pointer_encoding, 0);
  const uint64_t size = cs_cfi_pointer(&fde, function.pointer_encoding & CS_ENCODING_FORMAT, 0);
  function.end = function.start + size;
  if (has_augmentation) cs_cfi_skip(&fde, cs_cfi_uleb(&fde));
  if (fde.is_bad || function.end < function.start || pc < function.start || pc >= function.end) return false;
  function.instructions = fde.at;
  function.instructions_end = fde.end;
  *ret_function = function;
  return true;
}

#endif
