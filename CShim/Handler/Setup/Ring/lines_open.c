// Opens the file for the last words, a short description of a crash that the crashing process itself writes. The file
// is opened when the shield starts, because the process can change its root directory or user before it crashes.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "../setup.h"

#include "../../Signal/Kernel/descriptors.h"
#include "../../Signal/Lines/last_words.h"
#include "../../Signal/Lines/lines.h"

// Kubernetes mounts this file into each container, and shows its contents after the container has ended.
#define TERMINATION_LOG "/dev/termination-log"

// The mode of the file if it is created, which happens only with CRASHSHIELD_LAST_WORDS=PATH.
#define FILE_MODE 0640

// The functions of the Swift runtime that stop the program with a message. The last words omit their frames.
extern char trap_string[] __asm__("$ss17_assertionFailure__4file4line5flagss5NeverOs12StaticStringV_SSAHSus6UInt32VtF")
    __attribute__((weak));
extern char trap_static[] __asm__("$ss17_assertionFailure__4file4line5flagss5NeverOs12StaticStringV_A2HSus6UInt32VtF")
    __attribute__((weak));
extern char trap_plain[] __asm__("$ss17_assertionFailure__5flagss5NeverOs12StaticStringV_SSs6UInt32VtF")
    __attribute__((weak));
extern char trap_fatal[] __asm__("$ss18_fatalErrorMessage__4file4line5flagss5NeverOs12StaticStringV_A2HSus6UInt32VtF")
    __attribute__((weak));
extern char trap_error[] __asm__("swift_unexpectedError") __attribute__((weak));

// Opens a file for appending. If it is a FIFO, does not wait for a reader. A symbolic link is refused, because another
// user can have made it. A directory cannot be opened for writing.
static cs_descriptor open_file(const char *path, int more_flags) {
  const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | more_flags;
  const int file = cs_descriptor_raise(open(path, flags, FILE_MODE));
  return file < 0 ? (cs_descriptor){.number = -1} : cs_descriptor_described(file);
}

// Returns whether another user may have put this file there: its owner is neither root nor this user, or it is a
// regular file with several hard links. By a hard link, another user could make the shield write to a file that this
// other user cannot change directly.
static bool is_strange(int file) {
  struct stat status = {0};
  if (fstat(file, &status) != 0) return true;
  const bool is_linked = S_ISREG(status.st_mode) && status.st_nlink != 1;
  return is_linked || (status.st_uid != geteuid() && status.st_uid != 0);
}

static cs_descriptor open_path(const char *path) {
  const cs_descriptor file = open_file(path, O_CREAT);
  if (file.number < 0 || !is_strange(file.number)) return file;
  close(file.number);
  return (cs_descriptor){.number = -1};
}

// These names of stderr are treated separately: as paths, they are symbolic links, which open_file() refuses.
static bool is_name_of_stderr(const char *place) {
  return strcmp(place, "stderr") == 0 || strcmp(place, "/dev/stderr") == 0 || strcmp(place, "/dev/fd/2") == 0 ||
         strcmp(place, "/proc/self/fd/2") == 0;
}

static void open_words(void) {
  const char *place = cs_environment_last_words();
  if (place != NULL && (strcmp(place, "off") == 0 || strcmp(place, "0") == 0)) return;
  cs_process.words_to_stderr = place != NULL && is_name_of_stderr(place);
  if (cs_process.words_to_stderr) return;
  const bool is_path = place != NULL && strchr(place, '/') != NULL;
  cs_process.last_words = is_path ? open_path(place) : open_file(TERMINATION_LOG, 0);
}

static void find_trap_functions(void) {
  char *const found[CS_TRAP_FUNCTION_COUNT] = {trap_string, trap_static, trap_plain, trap_fatal, trap_error};
  for (size_t index = 0; index < CS_TRAP_FUNCTION_COUNT; index++)
    cs_trap_functions[index] = (uint64_t)(uintptr_t)found[index];
}

void cs_lines_open(void) {
  if (getauxval(AT_SECURE) != 0) return;
  find_trap_functions();
  cs_process.first_stderr = cs_descriptor_described(STDERR_FILENO);
  cs_process.record_to_stderr = cs_environment_records_to_stderr();
  open_words();
  if (cs_process.last_words.number >= 0 || cs_process.words_to_stderr || cs_process.record_to_stderr)
    cs_lines_prefault();
}

void cs_lines_close(void) {
  if (cs_descriptor_is_ours(&cs_process.last_words)) close(cs_process.last_words.number);
  cs_process.last_words.number = -1;
  cs_process.words_to_stderr = cs_process.record_to_stderr = false;
}

#endif
