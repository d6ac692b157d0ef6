#include "cs_compression.h"
#include <limits.h>
#include <zlib.h>

// The window size, and the flag for the gzip format.
enum { GZIP_WINDOW_BITS = 15 + 16, LEVEL = 6, MEMORY_LEVEL = 8 };

enum cs_decompress_result cs_gzip_decompress(const uint8_t *input, size_t input_bytes, uint8_t *output,
                                             size_t limit_bytes, size_t *ret_bytes) {
  z_stream stream = {0};
  if (input_bytes > UINT_MAX || limit_bytes > UINT_MAX) return CS_DECOMPRESS_TOO_LARGE;
  if (inflateInit2(&stream, GZIP_WINDOW_BITS) != Z_OK) return CS_DECOMPRESS_NO_MEMORY;
  // zlib does not write to the input, but its declaration lacks `const`.
  stream.next_in = (uint8_t *)(uintptr_t)input;
  stream.avail_in = (uInt)input_bytes;
  stream.next_out = output;
  stream.avail_out = (uInt)limit_bytes;
  const int code = inflate(&stream, Z_FINISH);
  const size_t written = limit_bytes - stream.avail_out;
  const uInt rest = stream.avail_in;
  (void)inflateEnd(&stream);
  if (code == Z_STREAM_END) {
    if (rest != 0) return CS_DECOMPRESS_MALFORMED;
    *ret_bytes = written;
    return CS_DECOMPRESS_GOOD;
  }
  if (code == Z_MEM_ERROR) return CS_DECOMPRESS_NO_MEMORY;
  // The output is full, but the member has not ended.
  const int is_full = written == limit_bytes && (code == Z_BUF_ERROR || code == Z_OK);
  return is_full ? CS_DECOMPRESS_TOO_LARGE : CS_DECOMPRESS_MALFORMED;
}

size_t cs_gzip_compress(const uint8_t *input, size_t input_bytes, uint8_t *output, size_t limit_bytes) {
  z_stream stream = {0};
  if (input_bytes > UINT_MAX || limit_bytes > UINT_MAX) return 0;
  if (deflateInit2(&stream, LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
  stream.next_in = (uint8_t *)(uintptr_t)input;
  stream.avail_in = (uInt)input_bytes;
  stream.next_out = output;
  stream.avail_out = (uInt)limit_bytes;
  const int code = deflate(&stream, Z_FINISH);
  (void)deflateEnd(&stream);
  return code == Z_STREAM_END ? limit_bytes - stream.avail_out : 0;
}
