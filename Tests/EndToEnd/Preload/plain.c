// A C program that does not link the shield. It crashes on another thread, in main or before main.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static volatile int *volatile nowhere = (volatile int *)8;

__attribute__((noinline)) static void *plain_fault(void *unused) {
  *nowhere = 1;
  return unused;
}

__attribute__((noinline)) static int descend(int depth) {
  volatile int here[64];
  here[depth % 64] = depth;
  return descend(depth + 1) + here[depth % 64];
}

static void *overflow(void *unused) {
  return descend(0) == 0 ? unused : NULL;
}

__attribute__((constructor)) static void plain_constructor(void) {
  if (getenv("PLAIN_BEFORE_MAIN") != NULL) *nowhere = 1;
}

int main(int count, char **arguments) {
  pthread_t thread;
  const char *way = count > 1 ? arguments[1] : "";
  if (strcmp(way, "nothing") == 0) return 7;
  if (strcmp(way, "main") == 0) plain_fault(NULL);
  pthread_create(&thread, NULL, strcmp(way, "overflow") == 0 ? overflow : plain_fault, NULL);
  pthread_join(thread, NULL);
  return 1;
}
