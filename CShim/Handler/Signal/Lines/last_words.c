#include "cs_platform.h"

#if CS_SUPPORTED

#include "last_words.h"

#include <signal.h>

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "cs_ring_access.h"
#include "text.h"

// The part of the line that the message and the frames leave free for the thread's name and the report's ID.
#define TAIL_BYTES 96
// The maximum size of the message. The limit leaves space for the frames.
#define MESSAGE_BYTES 480
#define FRAME_COUNT   5

uint64_t cs_trap_functions[CS_TRAP_FUNCTION_COUNT];

static const char digits[] = "0123456789abcdef";

// The directories of system libraries, and the beginnings of the file names of runtime libraries. The last words omit
// the frames in these libraries.
static const char *const directories[] = {"/usr/lib/", "/usr/lib64/", "/lib/", "/lib64/", "/usr/libexec/"};
static const char *const libraries[] = {
    "libswift",    "lib_Foundation", "libFoundation",     "lib_Internationalization",
    "libdispatch", "libstdc++.",     "libBlocksRuntime.", "libcrashshield."};

static const char *name_of(int signal) SIGNAL_SAFE {
  switch (signal) {
  case SIGSEGV:
    return "SIGSEGV";
  case SIGBUS:
    return "SIGBUS";
  case SIGABRT:
    return "SIGABRT";
  case SIGILL:
    return "SIGILL";
  case SIGTRAP:
    return "SIGTRAP";
  case SIGFPE:
    return "SIGFPE";
  case SIGSYS:
    return "SIGSYS";
  default:
    return "a signal";
  }
}

// Returns whether the program has stopped itself, by a trap or by abort(). Otherwise, a message of the runtime does not
// belong to this crash.
static bool is_stop(const cs_ring_record *record) SIGNAL_SAFE {
  if (record->signal == SIGABRT) return record->code > 0 || record->sender_pid == cs_process.pid;
  return (record->signal == SIGILL || record->signal == SIGTRAP) && record->code > 0;
}

static void put_cause(cs_text *text, const cs_ring_record *record) SIGNAL_SAFE {
  if (record->code > 0 && (record->signal == SIGSEGV || record->signal == SIGBUS)) {
    cs_text_put(text, " at address ");
    cs_text_put_hex(text, record->address);
  } else if (record->code <= 0 && record->sender_pid != cs_process.pid) {
    cs_text_put(text, " sent by pid ");
    cs_text_put_decimal(text, record->sender_pid);
  }
  if (!is_stop(record)) return;
  const uint32_t message = cs_at_most(record->message_bytes, MESSAGE_BYTES);
  const uint32_t abort = cs_at_most(record->abort_bytes, MESSAGE_BYTES);
  if (message == 0 && abort == 0) return;
  cs_text_put(text, ": ");
  cs_text_put_clean(text, message != 0 ? record->message : record->abort_message, message != 0 ? message : abort);
}

static bool begins_with(const uint8_t *text, const char *start) SIGNAL_SAFE {
  for (; *start != 0; start++, text++) {
    if (*text != (uint8_t)*start) return false;
  }
  return true;
}

// Returns the last component of the image's path. Both end with a zero byte.
static const uint8_t *file_name(const cs_ring_image *image) SIGNAL_SAFE {
  const uint8_t *name = image->path;
  for (uint32_t index = 0; index + 1 < sizeof image->path && image->path[index] != 0; index++) {
    if (image->path[index] == '/') name = &image->path[index + 1];
  }
  return name;
}

// Returns whether the image is the executable, or one of the program's own libraries, judged by their paths only.
// crashd (CrashDaemon's Ownership) also uses the names of functions, which the handler cannot find.
static bool is_in_app(const cs_ring_image *image) SIGNAL_SAFE {
  if ((image->flags & CS_RING_IMAGE_EXECUTABLE) != 0) return true;
  if (image->path[0] != '/') return false;
  for (size_t index = 0; index < sizeof directories / sizeof directories[0]; index++) {
    if (begins_with(image->path, directories[index])) return false;
  }
  for (size_t index = 0; index < sizeof libraries / sizeof libraries[0]; index++) {
    if (begins_with(file_name(image), libraries[index])) return false;
  }
  return true;
}

static bool is_trap_function(uint64_t function_start) SIGNAL_SAFE {
  for (uint32_t index = 0; function_start != 0 && index < CS_TRAP_FUNCTION_COUNT; index++) {
    if (cs_trap_functions[index] == function_start) return true;
  }
  return false;
}

static const cs_ring_image *image_of(const cs_ring_frame *frame) SIGNAL_SAFE {
  return frame->image < cs_image_count(cs_process.ring) ? &cs_process.ring->images[frame->image] : NULL;
}

// Adds the file name of the image, and the frame's address in the image's ELF file (without the load bias). For a
// return address, subtracts 1, so that the address is in the call instruction.
static void put_frame(cs_text *text, const cs_ring_frame *frame, const cs_ring_image *image) SIGNAL_SAFE {
  const bool is_exact = (frame->flags & CS_RING_FRAME_EXACT) != 0;
  cs_text_put_clean(text, file_name(image), CS_RING_NAME_LIMIT_BYTES);
  cs_text_put(text, "+");
  cs_text_put_hex(text, frame->pc - !is_exact - image->bias);
}

// Adds the innermost in-app frames, or, if `is_in_app_only` is false, only the innermost frame. If consecutive frames
// have the same address, as in a recursion, adds only one of them.
static uint32_t put_frames(cs_text *text, const cs_ring_record *record, bool is_in_app_only) SIGNAL_SAFE {
  const uint32_t limit = is_in_app_only ? FRAME_COUNT : 1;
  uint64_t last_pc = 0;
  uint32_t count = 0;
  for (uint32_t index = 0; index < cs_at_most(record->frame_count, CS_RING_FRAME_LIMIT) && count < limit; index++) {
    const cs_ring_frame *frame = &record->frames[index];
    const cs_ring_image *image = image_of(frame);
    if (image == NULL || frame->pc == last_pc) continue;
    if (is_in_app_only && (!is_in_app(image) || is_trap_function(frame->function_start))) continue;
    const size_t before = text->count;
    cs_text_put(text, count == 0 ? " in " : " < ");
    put_frame(text, frame, image);
    if (text->count == text->limit) { // the end of the address may be missing
      text->count = before;
      break;
    }
    last_pc = frame->pc;
    count++;
  }
  return count;
}

static void put_id(cs_text *text, const uint8_t *id) SIGNAL_SAFE {
  char hex[3] = {0};
  for (size_t index = 0; index < sizeof cs_process.ring->header.ring_id; index++) {
    hex[0] = digits[id[index] >> 4];
    hex[1] = digits[id[index] & 15];
    cs_text_put(text, hex);
  }
}

size_t cs_last_words(const cs_ring_record *record, bool is_bare, char ret_line[CS_LAST_WORDS_LIMIT_BYTES]) SIGNAL_SAFE {
  const cs_ring_header *header = &cs_process.ring->header;
  cs_text text = {.bytes = ret_line, .limit = CS_LAST_WORDS_LIMIT_BYTES - TAIL_BYTES};
  cs_text_put(&text, "crashshield: ");
  cs_text_put_clean(&text, header->name, sizeof header->name);
  cs_text_put(&text, " crashed by ");
  cs_text_put(&text, name_of(record->signal));
  if (!is_bare) put_cause(&text, record);
  if (put_frames(&text, record, true) == 0) put_frames(&text, record, false);

  text.limit = CS_LAST_WORDS_LIMIT_BYTES - 1;
  cs_text_put(&text, "; thread ");
  cs_text_put_decimal(&text, record->tid);
  cs_text_put(&text, " ");
  cs_text_put_clean(&text, record->thread_name, sizeof record->thread_name);
  cs_text_put(&text, "; report ");
  put_id(&text, header->ring_id);
  ret_line[text.count] = '\n';
  return text.count + 1;
}

#endif
