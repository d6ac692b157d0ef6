#include "cs_platform.h"

#if CS_SUPPORTED

#include "cfi_reader.h"

// In LEB128, a 64-bit number needs at most ten bytes of seven bits each. A longer encoding is invalid.
#define LEB_LIMIT_BYTES 10

uint64_t cs_cfi_uleb(cs_cfi_reader *reader) SIGNAL_SAFE {
  uint64_t value = 0;
  for (unsigned index = 0; index < LEB_LIMIT_BYTES; index++) {
    const uint8_t byte = cs_cfi_byte(reader);
    value |= (uint64_t)(byte & 0x7f) << (7 * index);
    if ((byte & 0x80) == 0) return value;
  }
  reader->is_bad = true;
  return 0;
}

int64_t cs_cfi_sleb(cs_cfi_reader *reader) SIGNAL_SAFE {
  uint64_t value = 0;
  for (unsigned index = 0; index < LEB_LIMIT_BYTES; index++) {
    const uint8_t byte = cs_cfi_byte(reader);
    const unsigned shift = 7 * (index + 1);
    value |= (uint64_t)(byte & 0x7f) << (7 * index);
    if ((byte & 0x80) == 0) {
      if ((byte & 0x40) != 0 && shift < 64) value |= ~UINT64_C(0) << shift;
      return (int64_t)value;
    }
  }
  reader->is_bad = true;
  return 0;
}

static uint64_t read_format(cs_cfi_reader *reader, uint8_t encoding) SIGNAL_SAFE {
  switch (encoding & CS_ENCODING_FORMAT) {
  case 0x00: // absptr
  case 0x04: // udata8
  case 0x0c: // sdata8
    return cs_cfi_fixed(reader, 8);
  case 0x01:
    return cs_cfi_uleb(reader);
  case 0x02:
    return cs_cfi_fixed(reader, 2);
  case 0x03:
    return cs_cfi_fixed(reader, 4);
  case 0x09:
    return (uint64_t)cs_cfi_sleb(reader);
  case 0x0a:
    return (uint64_t)cs_cfi_fixed_signed(reader, 2);
  case 0x0b:
    return (uint64_t)cs_cfi_fixed_signed(reader, 4);
  default:
    reader->is_bad = true;
    return 0;
  }
}

uint64_t cs_cfi_pointer(cs_cfi_reader *reader, uint8_t encoding, uint64_t data_base) SIGNAL_SAFE {
  if (encoding == CS_ENCODING_OMIT) return 0;
  if ((encoding & CS_ENCODING_INDIRECT) != 0) reader->is_bad = true;
  const uint64_t place = (uint64_t)(uintptr_t)reader->at;
  const uint64_t value = read_format(reader, encoding);
  if (reader->is_bad || value == 0) return 0;
  switch (encoding & CS_ENCODING_APPLICATION) {
  case 0:
    return value;
  case CS_ENCODING_PC_RELATIVE:
    return value + place;
  case CS_ENCODING_DATA_RELATIVE:
    return value + data_base;
  default:
    reader->is_bad = true;
    return 0;
  }
}

#endif
