// Finds groups by name and number.
#include "cd_system.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>

// The maximum size of a group's entry, which contains the names of its members. This size is enough for a hundred
// thousand members.
#define ENTRY_LIMIT_BYTES (4 << 20)

// Finds a group by its name, or by its number if `name` is NULL. `*ret_bytes` contains the strings of the entry.
static int look(const char *name, uint32_t number, struct group *ret_entry, char **ret_bytes) {
  for (size_t size = 4096; size <= ENTRY_LIMIT_BYTES; size *= 4) {
    char *bytes = malloc(size);
    if (bytes == NULL) return ENOMEM;
    struct group *found = NULL;
    int code = name != NULL ? getgrnam_r(name, ret_entry, bytes, size, &found)
                            : getgrgid_r(number, ret_entry, bytes, size, &found);
    if (code == 0 && found != NULL) {
      *ret_bytes = bytes;
      return 0;
    }
    free(bytes);
    if (code == EINTR || code == ERANGE) continue;
    // Some databases return these errors for a group that does not exist, as getgrnam(3) explains.
    return code == 0 || code == ESRCH || code == EBADF || code == EPERM ? ENOENT : code;
  }
  return ERANGE;
}

int cd_group_find(const char *name, uint32_t *ret_group) {
  struct group entry;
  char *bytes = NULL;
  int code = look(name, 0, &entry, &bytes);
  if (code != 0) return code;
  *ret_group = entry.gr_gid;
  free(bytes);
  return 0;
}

int cd_group_has_name(uint32_t group, const char *name, bool *ret_has_name) {
  struct group entry;
  char *bytes = NULL;
  int code = look(NULL, group, &entry, &bytes);
  if (code == ENOENT) {
    *ret_has_name = false;
    return 0;
  }
  if (code != 0) return code;
  *ret_has_name = strcmp(entry.gr_name, name) == 0;
  free(bytes);
  return 0;
}
