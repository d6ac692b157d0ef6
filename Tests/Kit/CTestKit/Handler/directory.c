#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cs_test_support.h"

char *cs_test_make_directory(void) {
  char *path = strdup("/tmp/csXXXXXX");
  return path != NULL ? mkdtemp(path) : NULL;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)status;
  (void)kind;
  (void)place;
  return remove(path);
}

bool cs_test_remove_directory(char *path) {
  const bool is_removed = nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0;
  free(path);
  return is_removed;
}
