// shim-host: a program that contains only the C code of the shield. Tests start this program, and kill it. Usage:
// shim-host ring [together] | memory
#include "host.h"

#include <string.h>

int main(int count, char **arguments) {
  const char *word = count > 1 ? arguments[1] : "";
  if (strcmp(word, "ring") == 0) return write_ring(count > 2 && strcmp(arguments[2], "together") == 0);
  if (strcmp(word, "memory") == 0) return keep_memory();
  return 64; // EX_USAGE
}
