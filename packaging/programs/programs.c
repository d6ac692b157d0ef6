// The installed crashd, crashctl and crash-forward are one file with three names: they share the Swift library,
// Foundation and most modules (docs/decisions/0133). This main runs the program whose name the file was started by.
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// SwiftPM names the entry of each program so.
int crashd_main(int count, char **arguments);
int crashctl_main(int count, char **arguments);
int crash_forward_main(int count, char **arguments);

static const struct {
  const char *name;
  int (*main)(int, char **);
} programs[] = {{"crashd", crashd_main}, {"crashctl", crashctl_main}, {"crash-forward", crash_forward_main}};

// Runs the program of a name; -1: there is none.
static int run(const char *path, int count, char **arguments) {
  const char *slash = strrchr(path, '/');
  const char *name = slash != NULL ? slash + 1 : path;
  for (size_t at = 0; at < sizeof programs / sizeof *programs; at++) {
    if (strcmp(name, programs[at].name) == 0) return programs[at].main(count, arguments);
  }
  return -1;
}

int main(int count, char **arguments) {
  // The kernel's word first: the caller chooses the first argument.
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
  // Of a program that an upgrade replaced meanwhile.
  static const char deleted[] = " (deleted)";
  size_t end = strlen(path), suffix = sizeof deleted - 1;
  if (end > suffix && strcmp(path + end - suffix, deleted) == 0) path[end - suffix] = 0;
  int status = run(path, count, arguments);
  // A copy or a link under another name.
  if (status < 0 && count > 0) status = run(arguments[0], count, arguments);
  if (status >= 0) return status;
  (void)fprintf(stderr, "'%s' is no name of this program: it runs as crashd, crashctl or crash-forward\n", path);
  return 2;
}
