// The entry point for libFuzzer. The first byte of an input chooses gzip or zstd, and the rest is the compressed body
// of a request to crash-fleet. zlib and libzstd are the libraries of the system, without instrumentation.
// scripts/fuzz/readers builds and runs this target.
#include "cs_compression.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Above this size, a body is refused.
enum { LIMIT = 1 << 16 };

typedef enum cs_decompress_result decompressor(const uint8_t *, size_t, uint8_t *, size_t, size_t *);
typedef size_t compressor(const uint8_t *, size_t, uint8_t *, size_t);

static void promise(bool kept) {
  if (!kept) abort();
}

/// Compresses bytes again, and checks that decompression restores them.
static void check_round_trip(decompressor *decompress, compressor *compress, const uint8_t *plain, size_t count) {
  static uint8_t packed[2 * LIMIT], again[LIMIT];
  const size_t packed_bytes = compress(plain, count, packed, sizeof packed);
  size_t bytes = 0;
  promise(packed_bytes > 0);
  promise(decompress(packed, packed_bytes, again, count, &bytes) == CS_DECOMPRESS_GOOD);
  promise(bytes == count && memcmp(plain, again, count) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t count) {
  if (count == 0) return 0;
  const bool is_zstd = data[0] & 1;
  decompressor *const decompress = is_zstd ? cs_zstd_decompress : cs_gzip_decompress;
  // The block is exactly as large as the limit, so that the address sanitizer detects a write behind it.
  uint8_t *plain = malloc(LIMIT);
  promise(plain);
  size_t bytes = SIZE_MAX;
  const enum cs_decompress_result result = decompress(data + 1, count - 1, plain, LIMIT, &bytes);
  if (result == CS_DECOMPRESS_GOOD) {
    promise(bytes <= LIMIT);
    check_round_trip(decompress, is_zstd ? cs_zstd_compress : cs_gzip_compress, plain, bytes);
  } else {
    promise(bytes == SIZE_MAX && result != CS_DECOMPRESS_NO_MEMORY);
  }
  free(plain);
  return 0;
}
