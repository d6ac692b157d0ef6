// Decompresses untrusted data within a limit.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum cs_decompress_result {
  CS_DECOMPRESS_GOOD,
  /// The data does not have the format, is damaged, or is truncated.
  CS_DECOMPRESS_MALFORMED,
  /// The decompressed data exceeds `limit_bytes`.
  CS_DECOMPRESS_TOO_LARGE,
  CS_DECOMPRESS_NO_MEMORY
};

/// Decompresses one gzip member into `output`, which has room for `limit_bytes` bytes.
///
/// Stores the number of decompressed bytes in `ret_bytes`. Data after the member is an error.
enum cs_decompress_result cs_gzip_decompress(const uint8_t *input, size_t input_bytes, uint8_t *output,
                                             size_t limit_bytes, size_t *ret_bytes);

/// Compresses `input` as one gzip member, for tests and tools. Returns 0 if `output` is too small.
size_t cs_gzip_compress(const uint8_t *input, size_t input_bytes, uint8_t *output, size_t limit_bytes);

/// Decompresses all zstd frames of `input` into `output`, which has room for `limit_bytes` bytes.
///
/// Stores the number of decompressed bytes in `ret_bytes`. A frame that needs a window of more than 8 MiB, a frame of
/// an older format, and bytes that belong to no frame are errors.
enum cs_decompress_result cs_zstd_decompress(const uint8_t *input, size_t input_bytes, uint8_t *output,
                                             size_t limit_bytes, size_t *ret_bytes);

/// Compresses `input` as one zstd frame, for tests and tools. Returns 0 if `output` is too small.
size_t cs_zstd_compress(const uint8_t *input, size_t input_bytes, uint8_t *output, size_t limit_bytes);
