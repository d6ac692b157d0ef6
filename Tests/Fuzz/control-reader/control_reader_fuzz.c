// The entry point for libFuzzer. An input is a control message, as crashd sends it to a process with the shield. The
// target checks the postconditions of cs_control_read().
#include "../../../CShim/Handler/Setup/Attach/control.h"

#include <stdlib.h>
#include <string.h>

static void promise(bool kept) {
  if (!kept) abort();
}

static void check(const cs_shim_control *control, size_t size) {
  const size_t length = strnlen(control->name, sizeof control->name);
  promise(length <= CS_CONTROL_NAME_LIMIT_BYTES && length < size);
  for (size_t index = 0; index < length; index++)
    promise((uint8_t)control->name[index] >= 0x20 && control->name[index] != 0x7f);
  const bool is_class = control->kind == CS_CONTROL_PROTECT || control->kind == CS_CONTROL_RELEASE;
  promise(is_class || control->kind == CS_CONTROL_SWEEP || control->kind == CS_CONTROL_SETTINGS ||
          control->kind == CS_CONTROL_GUARDS || control->kind == CS_CONTROL_WITHHOLD ||
          control->kind == CS_CONTROL_LAST_CRASH);
  const size_t id_length = strnlen(control->crash_id, sizeof control->crash_id);
  promise(id_length <= CS_CONTROL_ID_LIMIT_BYTES);
  for (size_t index = 0; index < id_length; index++)
    promise((uint8_t)control->crash_id[index] >= 0x20 && control->crash_id[index] != 0x7f);
  if (control->kind == CS_CONTROL_LAST_CRASH) promise((control->time_ns == 0) == (id_length == 0));
  for (uint32_t kind = 0; kind < CS_CONTROL_GUARD_KINDS; kind++) {
    promise(control->guard_modes[kind] <= CS_CONTROL_GUARD_ABSORB);
    promise(control->implicit_guard_modes[kind] <= CS_CONTROL_GUARD_ABSORB);
  }
  if (is_class) promise((length == 0) == ((control->flags & CS_CONTROL_OWN_CLASSES) != 0));
  if (control->kind == CS_CONTROL_PROTECT) promise(control->policy <= CS_MODE_DIAGNOSE);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  cs_shim_control control;
  cs_shim_control untouched;
  uint32_t number = 1;
  memset(&control, 0x5a, sizeof control);
  untouched = control;
  // The message is copied to a block of exactly its size. Therefore the sanitizer detects the first byte that is read
  // past the end.
  uint8_t *message = malloc(size > 0 ? size : 1);
  if (message == NULL) return 0;
  memcpy(message, bytes, size);
  const cs_control_result result = cs_control_read(message, size, &control, &number);
  free(message);
  if (result == CS_CONTROL_DONE) {
    check(&control, size);
  } else {
    promise(result == CS_CONTROL_MALFORMED || result == CS_CONTROL_UNKNOWN);
    promise(memcmp(&control, &untouched, sizeof control) == 0);
  }
  return 0;
}
