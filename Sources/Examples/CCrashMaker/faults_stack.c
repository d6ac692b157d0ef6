// Stacks that are corrupted, unusual or too small.
#include "faults.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// This function calls only itself. If it also called another function, one stack overflow in 34 would happen in the
// frame of that other function.
static FAULT int64_t descend(int64_t depth) {
  volatile char room[512];
  room[0] = (char)depth;
  if (depth == INT64_MAX) return room[0];
  int64_t next = depth + 1;
  __asm__ volatile("" : "+r"(next)); // returns its argument, like cs_opaque
  return descend(next) + room[0];
}

static void *overflow(void *unused) {
  (void)unused;
  cs_opaque(descend(0));
  return NULL;
}

FAULT void cs_fault_stack_overflow_small_thread(void) {
  pthread_t thread;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  if (pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN + 16384) != 0) return;
  if (pthread_create(&thread, &attributes, overflow, NULL) != 0) return;
  pthread_join(thread, NULL);
}

FAULT void cs_fault_sigaltstack_owned_by_app(void) {
  const size_t size = 65536;
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  const stack_t stack = {.ss_sp = memory, .ss_size = size};
  if (sigaltstack(&stack, NULL) == 0) overflow(NULL);
}

FAULT void cs_fault_smashed_return_address(void) {
  void **frame = __builtin_frame_address(0);
  frame[1] = opaque_pointer(UINT64_C(0x0000123456789000));
  cs_opaque(1);
}

#if defined(__x86_64__)
#define SMASH_FRAME_POINTER "movq $0x41414141, %%rbp\n\tmovl $42, 8(%%rbp)"
#define CORRUPT_STACK       "movq $8, %%rsp\n\tpushq $42"
#define LEAF                "movl $42, (%rdi)\n\tret"
#else
#define SMASH_FRAME_POINTER "movz x29, #0x4141, lsl #16\n\tmovk x29, #0x4141\n\tstr wzr, [x29, #8]"
// The processor requires that sp is a multiple of 16.
#define CORRUPT_STACK       "mov x9, #16\n\tmov sp, x9\n\tstr xzr, [sp, #-16]!"
#define LEAF                "str wzr, [x0]\n\tret"
#endif

FAULT void cs_fault_smashed_frame_pointer(void) {
  __asm__ volatile(SMASH_FRAME_POINTER ::: "memory"); // fault: smashed-frame-pointer
}

FAULT void cs_fault_corrupt_stack_pointer(void) {
  __asm__ volatile(CORRUPT_STACK ::: "memory"); // fault: corrupt-stack-pointer
}

// A leaf function that uses neither the frame pointer nor the stack pointer, like hand-written assembly.
__attribute__((naked, noinline)) static void cs_fault_leaf(__attribute__((unused)) int *number) {
  __asm__ volatile(LEAF); // fault: no-frame-pointer-leaf
}

FAULT void cs_fault_no_frame_pointer_leaf(void) {
  cs_fault_leaf(opaque_pointer(0));
  cs_opaque(1);
}

static FAULT int cs_fault_compare(const void *left, const void *right) {
  volatile const int *number = opaque_pointer(0);
  return *(const int *)left - *(const int *)right + *number; // fault: qsort-callback
}

FAULT void cs_fault_qsort_callback(void) {
  int numbers[] = {3, 1, 4, 1, 5, 9, 2, 6};
  qsort(numbers, sizeof numbers / sizeof numbers[0], sizeof numbers[0], cs_fault_compare);
  cs_opaque(numbers[0]);
}

FAULT void cs_fault_memcpy_bad_pointer(void) {
  char copy[256];
  const void *nowhere = opaque_pointer(UINT64_C(0x0000123456789000));
  memcpy(copy, nowhere, (size_t)cs_opaque(sizeof copy)); // fault: memcpy-bad-pointer
  cs_opaque(copy[0]);
}
