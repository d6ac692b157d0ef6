// Makes the state of the connection to crashd readable for all threads of the process. The state has a string, for
// which there are two buffers. The connection's thread writes into the unpublished buffer, and then publishes this
// buffer. A reader never waits for the writer. A reader repeats its copy if the writer published a state during the
// copy.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "last_status.h"

#include <stddef.h>

enum { STATUS_BITS = 8 };

static char texts[2][CS_SHIM_STATUS_TEXT_BYTES]; // bytes are atomic
// The published state: the number of changes so far in the upper bytes, and cs_shim_status + 1 in the lowest byte. 0:
// no state was published.
static uint64_t published;

static char *text_of(uint64_t state) {
  return texts[(state >> STATUS_BITS) & 1];
}

void cs_last_status_clear(void) {
  __atomic_store_n(&published, 0, __ATOMIC_RELAXED);
}

void cs_last_status_set(cs_shim_status status, const char *text) {
  const uint64_t number = (__atomic_load_n(&published, __ATOMIC_RELAXED) >> STATUS_BITS) + 1;
  const uint64_t state = number << STATUS_BITS | ((uint64_t)status + 1);
  char *const to = text_of(state);
  size_t count = 0;
  // release: pairs with the acquire fence of cs_shim_last_status(). The buffer that is overwritten below contains the
  // string of the state before the published one. A reader that is still copying that string can copy a new byte. The
  // ordering guarantees that this reader then finds a newer state in `published` and repeats its copy.
  __atomic_thread_fence(__ATOMIC_RELEASE);
  while (count < CS_SHIM_STATUS_TEXT_BYTES - 1 && text[count] != 0) {
    __atomic_store_n(&to[count], text[count], __ATOMIC_RELAXED);
    count++;
  }
  __atomic_store_n(&to[count], 0, __ATOMIC_RELAXED);
  // release: pairs with the acquire load of cs_shim_last_status().
  __atomic_store_n(&published, state, __ATOMIC_RELEASE);
}

bool cs_shim_last_status(cs_shim_status *ret_status, char *ret_text) {
  if (!cs_shim_is_started()) return false;
  // acquire: pairs with the release store of cs_last_status_set().
  uint64_t state = __atomic_load_n(&published, __ATOMIC_ACQUIRE);
  for (;;) {
    if (state == 0) return false;
    const char *const from = text_of(state);
    if (ret_text != NULL) {
      for (size_t index = 0; index < CS_SHIM_STATUS_TEXT_BYTES; index++)
        ret_text[index] = __atomic_load_n(&from[index], __ATOMIC_RELAXED);
    }
    // acquire: pairs with the release fence of cs_last_status_set().
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const uint64_t now = __atomic_load_n(&published, __ATOMIC_ACQUIRE);
    if (now == state) break;
    state = now;
  }
  *ret_status = (cs_shim_status)((state & ((1U << STATUS_BITS) - 1)) - 1);
  return true;
}

#endif
