// Parses control messages: crashd's requests to the process, for example to protect a class. They arrive over a socket
// and are untrusted input. The code checks each length before using it, and copies each field before reading it. The
// result of parsing depends only on the arguments. The fuzz target Tests/Fuzz/control-reader tests this code.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "control.h"

#include <string.h>

#include "cs_attach.h"

// The bytes of the message that are not parsed yet.
typedef struct reader {
  const uint8_t *bytes;
  size_t left;
} reader;

static bool take(reader *reader, void *ret_bytes, size_t size) {
  if (reader->left < size) return false;
  memcpy(ret_bytes, reader->bytes, size);
  reader->bytes += size;
  reader->left -= size;
  return true;
}

// Copies a string of at most `limit` bytes. Refuses NUL and control characters. `ret_text` must have space for `limit`
// + 1 bytes.
static bool take_text(reader *reader, uint32_t size, uint32_t limit, char *ret_text) {
  if (size > reader->left || size > limit) return false;
  for (uint32_t index = 0; index < size; index++) {
    if (reader->bytes[index] < 0x20 || reader->bytes[index] == 0x7f) return false;
  }
  ret_text[size] = 0;
  return take(reader, ret_text, size);
}

// Copies a string, which must fill the rest of the control message.
static bool take_name(reader *reader, uint32_t size, char *ret_name) {
  return size == reader->left && take_text(reader, size, CS_CONTROL_NAME_LIMIT_BYTES, ret_name);
}

static bool read_class(reader *reader, cs_shim_control *control) {
  cs_control_class class;
  if (!take(reader, &class, sizeof class)) return false;
  // A control message for all classes contains no name. A message for one class contains the name of the class.
  const bool is_all = (class.flags & CS_CONTROL_OWN_CLASSES) != 0;
  if (is_all != (class.name_bytes == 0) || !take_name(reader, class.name_bytes, control->name)) return false;
  if (control->kind == CS_CONTROL_PROTECT && class.policy > CS_MODE_DIAGNOSE) return false;
  control->flags = class.flags;
  control->round = class.round;
  control->policy = class.policy;
  control->limit = class.limit;
  return true;
}

static bool read_sweep(reader *reader, cs_shim_control *control) {
  cs_control_sweep sweep;
  if (!take(reader, &sweep, sizeof sweep)) return false;
  control->round = sweep.round;
  return true;
}

static bool read_settings(reader *reader, cs_shim_control *control) {
  cs_control_settings settings;
  if (!take(reader, &settings, sizeof settings)) return false;
  control->flags = settings.flags;
  control->round = settings.round;
  control->budget_bytes = settings.budget_bytes;
  control->stack_frames = settings.stack_frames;
  return true;
}

static bool are_guard_modes(const uint8_t *modes) {
  for (uint32_t kind = 0; kind < CS_CONTROL_GUARD_KINDS; kind++) {
    if (modes[kind] > CS_CONTROL_GUARD_ABSORB) return false;
  }
  return true;
}

static bool read_guards(reader *reader, cs_shim_control *control) {
  cs_control_guards guards;
  if (!take(reader, &guards, sizeof guards)) return false;
  if (!are_guard_modes(guards.modes) || !are_guard_modes(guards.implicit_modes)) return false;
  control->round = guards.round;
  memcpy(control->guard_modes, guards.modes, sizeof control->guard_modes);
  memcpy(control->implicit_guard_modes, guards.implicit_modes, sizeof control->implicit_guard_modes);
  return true;
}

static bool read_withhold(reader *reader, cs_shim_control *control) {
  cs_control_withhold withhold;
  if (!take(reader, &withhold, sizeof withhold)) return false;
  control->round = withhold.round;
  return true;
}

static bool read_last_crash(reader *reader, cs_shim_control *control) {
  cs_control_last_crash crash;
  if (!take(reader, &crash, sizeof crash)) return false;
  // If there was a crash, the message contains its time and ID. If there was none, the message contains neither, and no
  // sentence.
  const bool is_none = crash.time_ns == 0;
  if (is_none != (crash.id_bytes == 0) || (is_none && crash.sentence_bytes != 0)) return false;
  control->time_ns = crash.time_ns;
  return take_text(reader, crash.id_bytes, CS_CONTROL_ID_LIMIT_BYTES, control->crash_id) &&
         take_name(reader, crash.sentence_bytes, control->name);
}

cs_control_result cs_control_read(const void *message, size_t size, cs_shim_control *ret_control,
                                  uint32_t *ret_number) {
  *ret_number = 0;
  cs_control_header header;
  if (size < sizeof header || size > CS_CONTROL_LIMIT_BYTES) return CS_CONTROL_MALFORMED;
  memcpy(&header, message, sizeof header);
  if (header.magic != CS_CONTROL_MAGIC) return CS_CONTROL_MALFORMED;
  *ret_number = header.number;
  if (header.version != CS_CONTROL_VERSION) return CS_CONTROL_UNKNOWN;
  if (header.payload_bytes != size - sizeof header) return CS_CONTROL_MALFORMED;

  reader reader = {(const uint8_t *)message + sizeof header, header.payload_bytes};
  cs_shim_control control = {.kind = (cs_control_kind)header.kind};
  bool is_good = false;
  switch (control.kind) {
  case CS_CONTROL_PROTECT:
  case CS_CONTROL_RELEASE:
    is_good = read_class(&reader, &control);
    break;
  case CS_CONTROL_SWEEP:
    is_good = read_sweep(&reader, &control);
    break;
  case CS_CONTROL_SETTINGS:
    is_good = read_settings(&reader, &control);
    break;
  case CS_CONTROL_GUARDS:
    is_good = read_guards(&reader, &control);
    break;
  case CS_CONTROL_WITHHOLD:
    is_good = read_withhold(&reader, &control);
    break;
  case CS_CONTROL_LAST_CRASH:
    is_good = read_last_crash(&reader, &control);
    break;
  default:
    return CS_CONTROL_UNKNOWN;
  }
  // The message contains bytes after the fields of its version, so it is malformed.
  if (!is_good || reader.left != 0) return CS_CONTROL_MALFORMED;
  *ret_control = control;
  return CS_CONTROL_DONE;
}

#endif
