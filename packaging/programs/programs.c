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

int main(int count, char **arguments) {
  // The kernel's word: the caller chooses the first argument.
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
  const char *from = length > 0 ? path : count > 0 ? arguments[0] : "";
  const char *slash = strrchr(from, '/');
  const char *name = slash != NULL ? slash + 1 : from;
  for (size_t at = 0; at < sizeof programs / sizeof *programs; at++) {
    if (strcmp(name, programs[at].name) == 0) return programs[at].main(count, arguments);
  }
  fprintf(stderr, "'%s' is no name of this program: it runs as crashd, crashctl or crash-forward\n", name);
  return 2;
}
