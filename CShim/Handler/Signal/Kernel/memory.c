#include "cs_platform.h"

#if CS_SUPPORTED

#include "memory.h"

#include "raw_copy.h"
#include "system_call.h"

// rt_sigprocmask copies the signal set from memory before it checks `how`. With an invalid `how`, the call therefore
// only tests whether the memory is readable. The call takes 0.17 µs, needs no descriptor, and every seccomp profile
// under which glibc works allows it. If a seccomp profile makes the call return another result, this function uses
// process_vm_readv instead (1.6 µs).
bool cs_memory_is_readable(uint64_t address) SIGNAL_SAFE {
  const long answer = cs_system_call(SYS_rt_sigprocmask, ~0L, (long)address, 0, CS_KERNEL_SIGNAL_SET_BYTES, 0, 0);
  if (answer == -EINVAL) return true;
  if (answer == -EFAULT) return false;
  uint64_t word;
  const struct iovec local = {&word, sizeof word};
  const struct iovec remote = {(void *)(uintptr_t)address, sizeof word};
  return cs_process_vm_readv(cs_getpid(), &local, &remote) == (long)sizeof word;
}

bool cs_memory_read_word(cs_memory *memory, uint64_t address, uint64_t *ret_word) SIGNAL_SAFE {
  const bool is_known = address >= memory->low && address < memory->high && memory->high - address >= sizeof *ret_word;
  if (!is_known) {
    const uint64_t offset = address & (CS_PAGE_BYTES - 1);
    const uint64_t mark = (address - offset) | 1; // the bit 0 is set, so that the initial value 0 matches no page, not
                                                  // even page 0
    const bool is_inside_page = offset <= CS_PAGE_BYTES - sizeof *ret_word;
    if (memory->probed_page != mark || !is_inside_page) {
      if (!cs_memory_is_readable(address)) return false;
      memory->probed_page = mark;
    }
  }
  *ret_word = cs_raw_word(address);
  return true;
}

// The probe reads eight bytes. The address is aligned, so that they do not cross the end of the page.
static bool page_is_readable(uint64_t address) SIGNAL_SAFE {
  return cs_memory_is_readable(address & ~UINT64_C(7));
}

size_t cs_memory_copy(void *to, uint64_t address, size_t size) SIGNAL_SAFE {
  size_t done = 0;
  while (done < size) {
    const uint64_t at = address + done;
    if (at < address || !page_is_readable(at)) break;
    size_t part = (size_t)(CS_PAGE_BYTES - (at & (CS_PAGE_BYTES - 1)));
    if (part > size - done) part = size - done;
    cs_raw_copy((uint8_t *)to + done, at, part);
    done += part;
  }
  return done;
}

size_t cs_memory_text_bytes(uint64_t address, size_t limit) SIGNAL_SAFE {
  size_t count = 0;
  while (count < limit) {
    const uint64_t at = address + count;
    const bool is_new_page = count == 0 || (at & (CS_PAGE_BYTES - 1)) == 0;
    if (is_new_page && (at < address || !page_is_readable(at))) break;
    if (cs_raw_byte(at) == 0) break;
    count++;
  }
  return count;
}

#endif
