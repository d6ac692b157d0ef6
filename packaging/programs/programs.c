// The installed crashd, crashctl and crash-forward are one file with three names: they share the Swift library,
// Foundation and most modules (docs/decisions/0133). This main runs the program under whose name the file was started.
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// SwiftPM gives the main functions of the three programs these names.
int crashd_main(int count, char **arguments);
int crashctl_main(int count, char **arguments);
int crash_forward_main(int count, char **arguments);

static const struct {
  const char *name;
  int (*main)(int, char **);
} programs[] = {{"crashd", crashd_main}, {"crashctl", crashctl_main}, {"crash-forward", crash_forward_main}};

// Runs the program whose name is the last component of the path. Returns -1 if no program has this name.
static int run(const char *path, int count, char **arguments) {
  const char *slash = strrchr(path, '/');
  const char *name = slash != NULL ? slash + 1 : path;
  for (size_t at = 0; at < sizeof programs / sizeof *programs; at++) {
    if (strcmp(name, programs[at].name) == 0) return programs[at].main(count, arguments);
  }
  return -1;
}

int main(int count, char **arguments) {
  // Tries the path from the kernel first, because the caller can choose any first argument.
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
  // The kernel adds this suffix if an upgrade has replaced the file while the program runs.
  static const char deleted[] = " (deleted)";
  size_t end = strlen(path), suffix = sizeof deleted - 1;
  if (end > suffix && strcmp(path + end - suffix, deleted) == 0) path[end - suffix] = 0;
  int status = run(path, count, arguments);
  // The path has another name if the file was copied, hard-linked or renamed. Then the first argument selects the
  // program.
  if (status < 0 && count > 0) status = run(arguments[0], count, arguments);
  if (status >= 0) return status;
  (void)fprintf(stderr, "'%s' is not a name of this program: start it as crashd, crashctl or crash-forward\n", path);
  return 2;
}
