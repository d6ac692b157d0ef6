// The libc declarations that the portable C code of the shield needs. scripts/check/unsupported compiles this code for
// platforms whose headers are not installed on the build machine.
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);
int memcmp(const void *left, const void *right, size_t bytes);
size_t strlen(const char *text);
