#include "cs_compression.h"
#include <endian.h>
#include <stdbool.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

// RFC 9659 limits the window of the content coding `zstd` to 8 MiB. By default, libzstd would allocate a window of up
// to 128 MiB if a frame demands it.
enum { WINDOW_LOG = 23 };

/// Returns whether the bytes begin with the magic number of a frame or of a skippable frame.
///
/// Debian's libzstd also reads formats from before version 1, whose decoders do not obey the limit of the window.
static bool is_frame(const uint8_t *bytes, size_t count) {
  uint32_t magic;
  if (count < sizeof magic) return false;
  memcpy(&magic, bytes, sizeof magic);
  magic = le32toh(magic);
  return magic == ZSTD_MAGICNUMBER || (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

static enum cs_decompress_result result_of(size_t error) {
  switch (ZSTD_getErrorCode(error)) {
  case ZSTD_error_memory_allocation:
    return CS_DECOMPRESS_NO_MEMORY;
  // The output is full, but the frame has not ended.
  case ZSTD_error_dstSize_tooSmall:
    return CS_DECOMPRESS_TOO_LARGE;
  default:
    return CS_DECOMPRESS_MALFORMED;
  }
}

/// Decompresses one frame.
static enum cs_decompress_result decompress_frame(ZSTD_DCtx *context, ZSTD_inBuffer *in, ZSTD_outBuffer *out) {
  if (!is_frame((const uint8_t *)in->src + in->pos, in->size - in->pos)) return CS_DECOMPRESS_MALFORMED;
  while (true) {
    const size_t read = in->pos, written = out->pos;
    const size_t left = ZSTD_decompressStream(context, out, in);
    if (ZSTD_isError(left)) return result_of(left);
    if (left == 0) return CS_DECOMPRESS_GOOD;
    // libzstd has neither read nor written a byte, because it needs more input or more room for output.
    if (in->pos == read && out->pos == written)
      return out->pos == out->size ? CS_DECOMPRESS_TOO_LARGE : CS_DECOMPRESS_MALFORMED;
  }
}

enum cs_decompress_result cs_zstd_decompress(const uint8_t *input, size_t input_bytes, uint8_t *output,
                                             size_t limit_bytes, size_t *ret_bytes) {
  ZSTD_DCtx *context = ZSTD_createDCtx();
  if (!context) return CS_DECOMPRESS_NO_MEMORY;
  ZSTD_inBuffer in = {.src = input, .size = input_bytes};
  ZSTD_outBuffer out = {.dst = output, .size = limit_bytes};
  const size_t status = ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, WINDOW_LOG);
  enum cs_decompress_result result = ZSTD_isError(status) ? result_of(status) : CS_DECOMPRESS_GOOD;
  // Empty input is an error, because the first frame is missing.
  while (result == CS_DECOMPRESS_GOOD && (in.pos < in.size || in.size == 0))
    result = decompress_frame(context, &in, &out);
  (void)ZSTD_freeDCtx(context);
  if (result == CS_DECOMPRESS_GOOD) *ret_bytes = out.pos;
  return result;
}

size_t cs_zstd_compress(const uint8_t *input, size_t input_bytes, uint8_t *output, size_t limit_bytes) {
  const size_t count = ZSTD_compress(output, limit_bytes, input, input_bytes, ZSTD_CLEVEL_DEFAULT);
  return ZSTD_isError(count) ? 0 : count;
}
