// Opens the file for the last words at the start, because the crashing process can have another root or user.
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

// The file that Kubernetes mounts into each container, and shows when the container has ended.
#define TERMINATION_LOG "/dev/termination-log"

// The mode of a file that the start creates for CRASHSHIELD_LAST_WORDS=PATH.
#define FILE_MODE 0640

// The functions of the Swift runtime that stop the program with a message.
extern char trap_string[] __asm__("$ss17_assertionFailure__4file4line5flagss5NeverOs12StaticStringV_SSAHSus6UInt32VtF")
    __attribute__((weak));
extern char trap_static[] __asm__("$ss17_assertionFailure__4file4line5flagss5NeverOs12StaticStringV_A2HSus6UInt32VtF")
    __attribute__((weak));
extern char trap_plain[] __asm__("$ss17_assertionFailure__5flagss5NeverOs12StaticStringV_SSs6UInt32VtF")
    __attribute__((weak));
extern char trap_fatal[] __asm__("$ss18_fatalErrorMessage__4file4line5flagss5NeverOs12StaticStringV_A2HSus6UInt32VtF")
    __attribute__((weak));
extern char trap_error[] __asm__("swift_unexpectedError") __attribute__((weak));

// Opens a file without waiting for its reader, if it is a FIFO. A symbolic link is refused, because another user can
// have made it. A directory cannot be opened for writing.
static cs_descriptor open_file(const char *path, int more_flags) {
  const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | more_flags;
  const int file = cs_descriptor_raise(open(path, flags, FILE_MODE));
  return file < 0 ? (cs_descriptor){.number = -1} : cs_descriptor_described(file);
}

// Returns whether another user can have put the file at the path. This is the case if a user other than root and this
// user owns the file, or if a regular file has several hard links. A hard link can refer to a file that the other user
// cannot change directly.
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

// The names of stderr are symbolic links, which open_file() would refuse.
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
