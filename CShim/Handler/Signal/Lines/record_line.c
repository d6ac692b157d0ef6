#include "cs_platform.h"

#if CS_SUPPORTED

#include "record_line.h"

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "cs_ring_access.h"
#include "record_parts.h"

// The working memory is static, because the stack of the crashing thread can be small.
static cs_record_parts parts;

static const char prefix[] = CS_RECORD_LINE_PREFIX;
static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Writes base64url without padding, and returns the number of characters.
static size_t put_base64(char *to, const uint8_t *bytes, size_t size) SIGNAL_SAFE {
  size_t count = 0;
  uint32_t bits = 0, bit_count = 0;
  for (size_t index = 0; index < size; index++) {
    bits = bits << 8 | bytes[index];
    for (bit_count += 8; bit_count >= 6; bit_count -= 6)
      to[count++] = digits[bits >> (bit_count - 6) & 63];
  }
  if (bit_count > 0) to[count++] = digits[bits << (6 - bit_count) & 63];
  return count;
}

void cs_record_line_prefault(void) {
  memset(&parts, 0, sizeof parts);
}

size_t cs_record_line(uint32_t slot, bool is_bare, char ret_line[CS_RECORD_LINE_LIMIT_BYTES]) SIGNAL_SAFE {
  memset(&parts.head, 0, sizeof parts.head);
  parts.pieces =
      cs_pieces_begin(parts.payload, sizeof parts.head, CS_RECORD_LINE_PAYLOAD_LIMIT_BYTES - sizeof(uint32_t));
  cs_parts_put(&parts, &cs_process.ring->slots[slot % CS_RING_SLOT_LIMIT], is_bare);

  const size_t size = parts.pieces.state.count;
  parts.head.bytes = (uint16_t)(size + sizeof(uint32_t));
  memcpy(parts.payload, &parts.head, sizeof parts.head);
  const uint32_t crc = cs_ring_crc32c(0, parts.payload, size);
  memcpy(parts.payload + size, &crc, sizeof crc);
  memcpy(ret_line, prefix, sizeof prefix - 1);
  size_t count = sizeof prefix - 1;
  count += put_base64(ret_line + count, parts.payload, size + sizeof crc);
  ret_line[count++] = '\n';
  return count;
}

#endif
