// host EXPECTED: a program with guard pages and, in some runs, with another allocator. If guard pages are off, the
// program prints the reason, which must contain EXPECTED. If EXPECTED is `-`, guard pages must be on. The program calls
// each function of the malloc family, in threads and in a forked child. Some memory is allocated by a function of one
// family and freed by a function of another. If guard pages are on, the program runs with pages of 4, 16 and 64 KiB,
// the sizes of AArch64 kernels. scripts/check/pages builds and runs it.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../CShim/GuardPages/Signal/access_of_code_aarch64.h"
#include "../../../CShim/GuardPages/Signal/pages.h"
#include "cs_guard_pages.h"
#include "cs_shim.h"

#define ROUNDS  2000
#define THREADS 4
#define BYTES   40

static const unsigned long metadata[8];
static __thread uint64_t late; // written by a destructor at the end of a thread

#define REQUIRE(condition)                                                                                             \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      (void)fprintf(stderr, "host: line %d: %s\n", __LINE__, #condition);                                              \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

static void fill_and_free(void *memory, size_t size) {
  REQUIRE(memory != NULL && malloc_usable_size(memory) >= size);
  memset(memory, 0x5a, size);
  free(memory);
}

static void use_family(size_t size) {
  void *memory = NULL;
  fill_and_free(malloc(size), size);
  unsigned char *zeros = calloc(size, 1);
  REQUIRE(zeros != NULL && zeros[0] == 0 && zeros[size - 1] == 0);
  unsigned char *moved = realloc(zeros, 3 * size);
  REQUIRE(moved != NULL && moved[size - 1] == 0);
  moved = reallocarray(moved, size, 1);
  fill_and_free(moved, size);
  REQUIRE(posix_memalign(&memory, 8192, size) == 0 && (uintptr_t)memory % 8192 == 0);
  fill_and_free(memory, size);
  memory = aligned_alloc(64, (size + 63) / 64 * 64);
  REQUIRE((uintptr_t)memory % 64 == 0);
  fill_and_free(memory, size);
  fill_and_free(memalign(4096, size), size);
  char *text = strdup("text");
  REQUIRE(text != NULL && strcmp(text, "text") == 0);
  free(text);
  // Allocates and frees an object of the class that this program protects by guard pages (`cs_pages_list` in main).
  const void *volatile *object = malloc(BYTES);
  REQUIRE(object != NULL);
  object[0] = metadata;
  free((void *)(uintptr_t)object);
}

static void free_late(void *memory) {
  late++;
  free(memory);
}

static pthread_key_t key;

static void *work(void *unused) {
  (void)unused;
  for (size_t round = 0; round < ROUNDS; round++)
    use_family(1 + round % 300);
  REQUIRE(pthread_setspecific(key, malloc(BYTES)) == 0);
  return NULL;
}

// Functions that only jemalloc has. The memory that they allocate is freed with free().
static void use_own_calls(void) {
  void *(*const mallocx)(size_t, int) = (void *(*)(size_t, int))dlsym(RTLD_DEFAULT, "mallocx");
  if (mallocx != NULL) fill_and_free(mallocx(BYTES, 0), BYTES);
}

static uint64_t incidents(void) {
  cs_pages_counts counts;
  cs_pages_count(&counts);
  return counts.incidents;
}

// Accesses the byte after an object, and then a freed object. The guard pages detect both accesses, and let them
// succeed.
static void access_invalid(void) {
  const void *volatile *const object = malloc(BYTES);
  REQUIRE(object != NULL);
  volatile char *const bytes = (volatile char *)(uintptr_t)object;
  object[0] = metadata;
  REQUIRE(((uintptr_t)bytes + 48 - cs_pages_start) % cs_page_bytes == 0);
  bytes[48] = 1;
  REQUIRE(incidents() == 1 && cs_page_incidents[0].kind == CS_RING_PAGES_OVERFLOW);
  free((void *)(uintptr_t)object);
  REQUIRE(bytes[32] == bytes[33] && incidents() == 2 && cs_page_incidents[1].kind == CS_RING_PAGES_READ);
  const void *volatile *const other = malloc(BYTES);
  REQUIRE(other != NULL);
  other[0] = metadata;
  free((void *)(uintptr_t)other);
  ((volatile char *)(uintptr_t)other)[32] = 1;
  REQUIRE(incidents() == 3 && cs_page_incidents[2].kind == CS_RING_PAGES_WRITE);
}

static void decode_accesses(void) {
  // AArch64 instructions that clang assembled: those that store, and others.
  static const uint32_t stores[] = {0xf9000020, 0xb9000420, 0x38001420, 0x78226820, 0xf81f8020, 0xf8000820, 0xa9000440,
                                    0xadbf07e0, 0xa8000440, 0x3d800020, 0xfc227820, 0x3c9f0020, 0xc8007c41, 0xc800fc41,
                                    0xc8200861, 0xc89ffc20, 0xd9008020, 0x4c007800, 0x0d9f9000};
  static const uint32_t others[] = {
      0xf9400020, 0xb9400420, 0x38401420, 0x39800020, 0xb8a26820, 0xf85f8020, 0xf8400820, 0xa9400440, 0x69400440,
      0xacc107e0, 0x3dc00020, 0xfc627820, 0x58000040, 0xc85f7c20, 0xc87f8440, 0xc8dffc20, 0xf8bfc020, 0xd9408020,
      0x99808020, 0xc8e0fc41, 0x88a07c41, 0xf8200420, 0xf8201c20, 0x08a07c41, 0x48207c82, 0x0860fc82, 0xf8e00041,
      0x38208041, 0xf820003f, 0x4c407800, 0x4d40c800, 0x8b020020, 0x14000000, 0xd65f03c0, 0x1e622820, 0xd2800020};
  for (size_t index = 0; index < sizeof stores / sizeof *stores; index++)
    REQUIRE(cs_access_code_writes(stores[index]));
  for (size_t index = 0; index < sizeof others / sizeof *others; index++)
    REQUIRE(!cs_access_code_writes(others[index]));
}

static void run(const char *program, const char *expected) {
  const cs_shim_configuration configuration = {.socket_path = "/dev/null/attach", .spool_directory = "/dev/null/spool"};
  REQUIRE(cs_shim_start(&configuration, NULL) == CS_SHIM_OK);
  const char *const reason = cs_pages_unavailable();
  const int is_available = strcmp(expected, "-") == 0;
  REQUIRE(is_available ? reason[0] == 0 : strstr(reason, expected) != NULL);
  cs_pages_configure(64, 1);
  const cs_pages_error error = cs_pages_list(metadata, BYTES, 16, "Host", 4, CS_MODE_ABSORB);
  REQUIRE(error == (is_available ? CS_PAGES_OK : CS_PAGES_UNAVAILABLE));
  REQUIRE(pthread_key_create(&key, free_late) == 0);
  pthread_t threads[THREADS];
  for (int index = 0; index < THREADS; index++)
    REQUIRE(pthread_create(&threads[index], NULL, work, NULL) == 0);
  for (int round = 0; round < 20; round++) {
    const pid_t child = fork();
    if (child == 0) {
      use_family(BYTES);
      _exit(42);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 42);
  }
  use_own_calls();
  void *library = dlopen("libm.so.6", RTLD_NOW);
  REQUIRE(library != NULL && dlclose(library) == 0);
  for (int index = 0; index < THREADS; index++)
    REQUIRE(pthread_join(threads[index], NULL) == 0);
  cs_pages_counts counts;
  cs_pages_count(&counts);
  REQUIRE(counts.incidents == 0 && (is_available ? counts.guarded > ROUNDS : counts.allocated == 0));
  (void)printf("%s: %s, %lu guarded\n", program, is_available ? "on" : reason, counts.guarded);
  if (is_available) access_invalid();
}

int main(int count, char **arguments) {
  static const uint64_t sizes[] = {16384, 65536};
  REQUIRE(count == 2);
  decode_accesses();
  for (int index = 0; strcmp(arguments[1], "-") == 0 && index < 2; index++) {
    const pid_t child = fork();
    if (child == 0) {
      cs_page_bytes = sizes[index];
      run(arguments[0], arguments[1]);
      exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  }
  run(arguments[0], arguments[1]);
  return 0;
}
