#include "cs_platform.h"

#if CS_SUPPORTED

#include "safe_access.h"

#include <linux/futex.h>

#include "../../Handler/Signal/Kernel/copy_by_kernel.h"

bool cs_read_at(const void *address, void *ret_bytes, size_t size) {
  return cs_copy_by_kernel(ret_bytes, (uint64_t)(uintptr_t)address, size);
}

bool cs_metadata_is_readable_class(const cs_metadata *metadata) {
  _Alignas(8) uint8_t bytes[2 * sizeof(uint64_t) + sizeof(cs_metadata)];
  _Static_assert(sizeof bytes <= CS_KERNEL_COPY_LIMIT, "one copy has all words");
  uint32_t flags = 0;
  if ((uintptr_t)metadata % 8 != 0 || (uintptr_t)metadata < 4096) return false;
  if (!cs_read_at((const uint8_t *)metadata - 16, bytes, sizeof bytes)) return false;
  const cs_metadata *const copy = (const cs_metadata *)((uintptr_t)bytes + 16);
  return copy->kind == 0 && cs_read_at(copy->descriptor, &flags, sizeof flags) && cs_metadata_is_class(copy, flags);
}

// This futex operation atomically ORs 0 into the word, which changes nothing. The system call fails if the memory is
// read-only.
bool cs_is_writable(void *word) {
  uint32_t unused = 0;
  const long nothing = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_LT, 0);
  return cs_system_call(SYS_futex, (long)&unused, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, (long)word, nothing) >= 0;
}

#endif
