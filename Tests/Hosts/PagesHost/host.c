// host EXPECTED: a program with guard slots and, in some runs, with another allocator. The program writes why guard
// slots are off. The reason must contain EXPECTED; `-` means that guard slots must be on. The program calls each
// function of the malloc family, in threads and in a forked child. Some memory is allocated by one function and freed
// by another. scripts/check/pages builds and runs it.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
  // An object of the class for which this program requests guard slots (`cs_pages_list` in main).
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

int main(int count, char **arguments) {
  const cs_shim_configuration configuration = {.socket_path = "/dev/null/attach", .spool_directory = "/dev/null/spool"};
  REQUIRE(count == 2);
  REQUIRE(cs_shim_start(&configuration, NULL) == CS_SHIM_OK);
  const char *const reason = cs_pages_unavailable();
  const int is_available = strcmp(arguments[1], "-") == 0;
  REQUIRE(is_available ? reason[0] == 0 : strstr(reason, arguments[1]) != NULL);
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
  (void)printf("%s: %s, %lu guarded\n", arguments[0], is_available ? "on" : reason, counts.guarded);
  return 0;
}
