// Crashes of a C program that uses freed blocks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap.h"

#define FAULT static __attribute__((noinline))

struct job {
  struct job *next;
  char *name;
  void (*finish)(struct job *);
  uint64_t *results;
  struct job *parent;
  uint64_t count;
};

static const char *age;
static size_t size;
static bool has_parent = true;

FAULT void finish(struct job *job) {
  heap_opaque(job->count);
}

static struct job *make_job(void) {
  struct job *job = malloc(size);
  if (job == NULL) _exit(3);
  *job = (struct job){.next = job, .name = "import", .finish = finish, .results = &job->count, .count = 3};
  job->parent = has_parent ? job : NULL;
  return job;
}

// Returns a job that has been freed. A second freed job points to it, as in a list.
static struct job *freed_job(void) {
  struct job *first = make_job();
  struct job *job = make_job();
  first->next = job;
  heap_make_room(age, job);
  free(first);
  const uint64_t address = heap_opaque((uint64_t)(uintptr_t)job);
  free(job);
  heap_age(age, size);
  return (struct job *)(uintptr_t)address;
}

FAULT void walk(void) {
  uint64_t sum = 0;
  int count = 0;
  for (struct job *job = freed_job(); job != NULL && count < 1000; job = job->next, count++)
    sum += job->count;
  heap_opaque(sum);
}
FAULT void callback(void) {
  struct job *job = freed_job();
  job->finish(job);
  heap_opaque(job->count);
}
FAULT void name(void) {
  heap_opaque((uint64_t)freed_job()->name[0]);
}
FAULT void result(void) {
  heap_opaque(freed_job()->results[0]);
}
FAULT void store(void) {
  *freed_job()->results = 7;
}
FAULT void unlink_job(void) {
  struct job *job = freed_job();
  job->next->parent = job->parent;
  job->parent->next = job->next;
}
FAULT void empty_field(void) {
  has_parent = false;
  struct job *job = freed_job();
  heap_opaque(job->parent->count + (uint64_t)(uintptr_t)job);
}
FAULT void twice(void) {
  free(freed_job());
}
FAULT void copy_name(void) {
  char copy[64];
  strncpy(copy, freed_job()->name, sizeof copy - 1);
  heap_opaque((uint64_t)copy[3]);
}

static const struct {
  const char *name;
  void (*fault)(void);
} kinds[] = {
    {"list-walk", walk},     {"callback", callback},   {"text-field", name},
    {"array-field", result}, {"store", store},         {"unlink", unlink_job},
    {"free-twice", twice},   {"copy-text", copy_name}, {"empty-field", empty_field},
};

int main(int count, char **arguments) {
  const size_t kind_count = sizeof kinds / sizeof *kinds;
  if (count == 2 && strcmp(arguments[1], "--list") == 0) {
    for (size_t index = 0; index < kind_count; index++)
      puts(kinds[index].name);
    return 0;
  }
  if (count != 4) return 2;
  age = arguments[2];
  heap_prepare("churned", strtoull(arguments[3], NULL, 10));
  static const size_t sizes[] = {sizeof(struct job), 88, 184, 440, 1400};
  size = sizes[heap_random() % (sizeof sizes / sizeof *sizes)];
  for (size_t index = 0; index < kind_count; index++)
    if (strcmp(kinds[index].name, arguments[1]) == 0) kinds[index].fault();
  return 4;
}
