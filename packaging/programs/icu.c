// An empty data package for ICU. It replaces the 34 MB of data that Foundation links: names of languages, calendars and
// character sets. No program of this package uses this data. ICU itself defines this form for a library without data
// ("stubdata"): a header and an empty table of contents. The properties of letters, and regular expressions, are in
// ICU's code.
#include <stdint.h>

struct icu_data {
  uint16_t header_bytes;
  uint8_t magic[2];
  uint16_t info_bytes, reserved_word;
  uint8_t is_big_endian, charset_family, bytes_of_unit, reserved_byte;
  uint8_t data_format[4], format_version[4], data_version[4];
  uint8_t padding[8];
  uint32_t count, reserved;
  uint64_t contents[2];
};

// The linker uses this definition, and omits the archive's object that has ICU's own definition. The symbol is hidden.
// A shared ICU in the same process keeps its own data.
extern const struct icu_data icudt76_dat;
__attribute__((visibility("hidden"), aligned(16))) const struct icu_data icudt76_dat = {
    .header_bytes = 32,
    .magic = {0xda, 0x27},
    .info_bytes = 20,
    .bytes_of_unit = 2,
    .data_format = {'T', 'o', 'C', 'P'},
    .format_version = {1},
};
