// Finds functions that have no frame on a recorded stack, because they ended with a tail call. The call instruction
// before a return address shows which function was called. If the next inner frame belongs to another function, the
// called one ended with a tail call. The table in .eh_frame_hdr, which the loader has mapped, contains the start of
// each function.
#include "cs_callees.h"
#include "cs_platform.h"

#if CS_SUPPORTED
#include <link.h>
#include <string.h>

#include "../Handler/Signal/Dispatch/trusted.h"
#include "callees_aarch64.h"
#include "callees_x86_64.h"

#define VERSION    1
#define POINTER    0x1B // encoding of a pointer: four signed bytes, relative to their own address
#define COUNT      0x03 // encoding of a number: four bytes
#define TABLE      0x3B // encoding of a table: four signed bytes, relative to the start of the header
#define HEADER     12
#define FDE_BEGIN  8
#define FDE_LENGTH 12

typedef struct function {
  uint64_t start;
  uint64_t end;
  bool is_in_executable;
} function;

static int32_t word_at(uint64_t address) SIGNAL_SAFE {
  int32_t word;
  memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
  return word;
}

// Finds the function that contains `pc`. Returns false if no image contains `pc`, or if the image's tables have other
// encodings than the three above.
static bool find(uint64_t pc, function *ret_function) SIGNAL_SAFE {
  struct dl_find_object object;
  if (_dl_find_object((void *)(uintptr_t)pc, &object) != 0 || object.dlfo_eh_frame == NULL) return false;
  const uint8_t *const bytes = object.dlfo_eh_frame;
  const uint64_t header = (uint64_t)(uintptr_t)bytes;
  if (bytes[0] != VERSION || bytes[1] != POINTER || bytes[2] != COUNT || bytes[3] != TABLE) return false;
  uint32_t from = 0, to = (uint32_t)word_at(header + 8);
  // A binary search finds the last table entry that begins at or before `pc`.
  while (from < to) {
    const uint32_t middle = from + (to - from) / 2;
    if (header + (uint64_t)(int64_t)word_at(header + HEADER + 8 * (uint64_t)middle) <= pc) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  if (from == 0) return false;
  const uint64_t entry = header + HEADER + 8 * (uint64_t)(from - 1);
  const uint64_t start = header + (uint64_t)(int64_t)word_at(entry);
  const uint64_t description = header + (uint64_t)(int64_t)word_at(entry + 4);
  // The FDE contains the start of the function a second time, followed by the length of the function.
  const uint64_t begin = description + FDE_BEGIN;
  if (begin + (uint64_t)(int64_t)word_at(begin) != start) return false;
  *ret_function = (function){
      .start = start,
      .end = start + (uint32_t)word_at(description + FDE_LENGTH),
      // the loader's name of the executable is the empty string
      .is_in_executable = object.dlfo_link_map->l_name[0] == 0,
  };
  return pc < ret_function->end;
}

// Finds the function that the call instruction before the return address calls. Returns false if the instruction calls
// through a register or a stub.
static bool callee_before(uint64_t return_address, function *ret_callee) SIGNAL_SAFE {
  function caller;
  // The bytes before the return address are readable, because they are in the same function.
  if (!find(return_address - 1, &caller) || return_address - caller.start < CALL_BYTES) return false;
  const uint64_t target = cs_call_target(return_address);
  return target != 0 && find(target, ret_callee) && ret_callee->start == target;
}

bool cs_prologue_is_async(const uint8_t bytes[CS_ASYNC_PROLOGUE_BYTES]) SIGNAL_SAFE {
  return cs_prologue_here_is_async(bytes);
}

bool cs_function_is_async(uint64_t address) SIGNAL_SAFE {
  function function;
  return find(address, &function) && cs_code_here_is_async(function.start, function.end - function.start);
}

uint32_t cs_callees_add(const uint64_t *frames, uint32_t count, bool is_first_exact, uint64_t *ret_frames,
                        uint32_t limit) SIGNAL_SAFE {
  uint32_t written = 0;
  for (uint32_t index = 0; index < count && written < limit; index++) {
    function callee, inner = {0};
    const bool is_exact = is_first_exact && index == 1;
    // A function of a library is added only if there is still space for all remaining frames, which can belong to the
    // program.
    if (index != 0 && callee_before(frames[index], &callee) &&
        (callee.is_in_executable || written + (count - index) < limit) &&
        (!find(frames[index - 1] - !is_exact, &inner) || inner.start != callee.start))
      ret_frames[written++] = callee.start + 1;
    if (written < limit) ret_frames[written++] = frames[index];
  }
  return written;
}

#else

bool cs_function_is_async(uint64_t address) SIGNAL_SAFE {
  (void)address;
  return false;
}

uint32_t cs_callees_add(const uint64_t *frames, uint32_t count, bool is_first_exact, uint64_t *ret_frames,
                        uint32_t limit) SIGNAL_SAFE {
  (void)is_first_exact;
  const uint32_t copied = count < limit ? count : limit;
  for (uint32_t index = 0; index < copied; index++)
    ret_frames[index] = frames[index];
  return copied;
}

#endif
