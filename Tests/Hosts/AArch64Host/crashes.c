#include "host.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "cs_ring_access.h"
#include "cs_shim.h"
#include "cs_testing.h"

#define FUNCTION __attribute__((noinline, not_tail_called, visibility("default")))

// The functions are not static, so that the host can look up their names.
void crash_trap(void);
void call_trap(void);
void leaf_write(void *address);
void call_leaf(void);
int compare_and_trap(const void *left, const void *right);
void sort(void);
void handle_and_trap(int signal_number);
void call_raise(void);
void leaf_kill(long pid, long tid);
void call_leaf_kill(void);
void handle_without_tables(int signal_number);
void call_kill_without_tables(void);
void call_null(void);
void no_tables(void);
void call_no_tables(void);
void async_function(void);
void async_entry(void);
void resume_parent(void);
void call_async(void);
void call_async_entry(void);
void fill_registers(void);
void point_registers(void *blocks);
void call_point_registers(void);
void call_abort(void);
void misaligned(void *address);
void call_misaligned(void);
void beyond_file(void);
void undefined(void);
void call_undefined(void);
void far_read(void);

static volatile int depth; // prevents tail calls

FUNCTION void crash_trap(void) {
  depth = 1;
  __builtin_trap();
}

FUNCTION void call_trap(void) {
  crash_trap();
  depth = 2;
}

// Leaf functions without a frame, functions without tables, and the prologues of Swift's async functions.
__asm__(".pushsection .text\n"
        ".macro function name\n"
        ".p2align 2\n"
        ".globl \\name\n"
        ".type \\name, %function\n"
        "\\name:\n"
        ".endm\n"
        "function leaf_write\n"
        ".cfi_startproc\n"
        "str wzr, [x0]\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size leaf_write, . - leaf_write\n"
        "function leaf_kill\n"
        ".cfi_startproc\n"
        "mov x2, #10\n"  // SIGUSR1
        "mov x8, #131\n" // tgkill
        "svc #0\n"
        "nop\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size leaf_kill, . - leaf_kill\n"
        "function misaligned\n"
        ".cfi_startproc\n"
        "ldaxr x1, [x0]\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size misaligned, . - misaligned\n"
        "function undefined\n"
        ".cfi_startproc\n"
        "udf #0\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size undefined, . - undefined\n"
        "function no_tables\n"
        "hint #25\n" // paciasp
        "stp x29, x30, [sp, #-32]!\n"
        "mov x29, sp\n"
        "bl crash_trap\n"
        "ldp x29, x30, [sp], #32\n"
        "hint #29\n" // autiasp
        "ret\n"
        ".size no_tables, . - no_tables\n"
        "function handle_without_tables\n"
        "stp x29, x30, [sp, #-64]!\n"
        "mov x29, sp\n"
        "bl crash_trap\n"
        "ldp x29, x30, [sp], #64\n"
        "ret\n"
        ".size handle_without_tables, . - handle_without_tables\n"
        "function async_function\n"
        ".cfi_startproc\n"
        "sub sp, sp, #48\n"
        "stp x29, x30, [sp, #32]\n"
        "str x19, [sp, #16]\n"
        "str x22, [sp, #24]\n"
        "add x29, sp, #32\n"
        ".cfi_def_cfa x29, 16\n"
        ".cfi_offset x29, -16\n"
        ".cfi_offset x30, -8\n"
        "mov x22, #0\n"
        "nop\n"
        "nop\n"
        "nop\n"
        "nop\n"
        "nop\n"
        "nop\n"
        "bl crash_trap\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size async_function, . - async_function\n"
        "function async_entry\n"
        ".cfi_startproc\n"
        "sub sp, sp, #32\n"
        ".cfi_def_cfa_offset 32\n"
        "brk #1\n"
        "stp x29, x30, [sp, #16]\n"
        "str x22, [sp, #8]\n"
        "add x29, sp, #16\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size async_entry, . - async_entry\n"
        "function fill_registers\n"
        ".cfi_startproc\n"
        ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, "
        "26, 27, 28\n"
        "mov x\\number, #0x1000 + \\number\n"
        ".endr\n"
        "brk #1\n"
        ".cfi_endproc\n"
        ".size fill_registers, . - fill_registers\n"
        // x0 to x15 and x20 point to blocks of 256 bytes.
        "function point_registers\n"
        ".cfi_startproc\n"
        "add x20, x0, #0x1000\n"
        ".irp number, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "add x\\number, x0, #0x100 * \\number\n"
        ".endr\n"
        "brk #1\n"
        ".cfi_endproc\n"
        ".size point_registers, . - point_registers\n"
        ".popsection\n");

FUNCTION void call_leaf(void) {
  leaf_write((void *)8);
  depth = 3;
}

static bool is_leaf_right(const cs_ring_record *record) {
  const bool is_write = record->registers.error_code == 0 || (record->registers.error_code & 64) != 0;
  return record->address == 8 && is_write && (record->frames[0].flags & CS_RING_FRAME_EXACT) != 0 &&
         record->frames[1].trust == CS_RING_TRUST_CFI;
}

FUNCTION int compare_and_trap(const void *left, const void *right) {
  crash_trap();
  return *(const int *)left - *(const int *)right;
}

FUNCTION void sort(void) {
  int numbers[2] = {2, 1};
  qsort(numbers, 2, sizeof numbers[0], compare_and_trap);
  depth = 4;
}

static bool is_found_by_tables(const cs_ring_record *record) {
  for (uint32_t index = 1; index < record->frame_count; index++) {
    if (record->frames[index].trust != CS_RING_TRUST_CFI) return false;
  }
  return record->unwind_stop == CS_UNWIND_STOP_END;
}

FUNCTION void handle_and_trap(int signal_number) {
  crash_trap();
  depth = signal_number;
}

static void install(int flags) {
  struct sigaction action = {.sa_handler = handle_and_trap, .sa_flags = flags};
  sigaction(SIGUSR1, &action, NULL);
}

FUNCTION void call_raise(void) {
  static uint8_t stack[65536];
  const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternate, NULL);
  install(SA_ONSTACK);
  raise(SIGUSR1);
  depth = 5;
}

FUNCTION void call_leaf_kill(void) {
  install(0);
  leaf_kill(getpid(), gettid());
  depth = 6;
}

FUNCTION void call_kill_without_tables(void) {
  const struct sigaction action = {.sa_handler = handle_without_tables};
  sigaction(SIGUSR1, &action, NULL);
  leaf_kill(getpid(), gettid());
  depth = 14;
}

static bool has_interrupted(const cs_ring_record *record) {
  uint32_t exact = 0;
  for (uint32_t index = 1; index < record->frame_count; index++)
    exact += (record->frames[index].flags & CS_RING_FRAME_EXACT) != 0;
  return exact == 1 && is_found_by_tables(record);
}

FUNCTION void call_null(void) {
  void (*volatile nowhere)(void) = NULL;
  nowhere();
  depth = 7;
}

static bool is_caller_of_null(const cs_ring_record *record) {
  return record->frames[0].pc == 0 && record->frames[1].trust == CS_RING_TRUST_SCAN;
}

FUNCTION void call_no_tables(void) {
  no_tables();
  depth = 8;
}

static bool is_found_by_frame_pointer(const cs_ring_record *record) {
  return record->frames[2].trust == CS_RING_TRUST_FRAME_POINTER && record->unwind_stop == CS_UNWIND_STOP_END;
}

FUNCTION void resume_parent(void) {
  depth = 9;
}

typedef struct async_context {
  struct async_context *parent;
  void (*resume)(void);
} async_context;

static async_context parent = {NULL, crash_trap};
static async_context context = {&parent, resume_parent};

FUNCTION void call_async(void) {
  __asm__ volatile("mov x22, %0\n bl async_function" : : "r"(&context) : "x22", "x30", "memory");
  depth = 10;
}

FUNCTION void call_async_entry(void) {
  __asm__ volatile("mov x22, %0\n bl async_entry" : : "r"(&context) : "x22", "x30", "memory");
  depth = 11;
}

static bool has_async_callers(const cs_ring_record *record) {
  if (record->frame_count < 3) return false;
  const cs_ring_frame *frames = &record->frames[record->frame_count - 2];
  return frames[0].pc == (uint64_t)(uintptr_t)resume_parent && frames[1].pc == (uint64_t)(uintptr_t)crash_trap &&
         frames[0].trust == CS_RING_TRUST_ASYNC && (frames[1].flags & CS_RING_FRAME_ASYNC) != 0;
}

static bool has_all_registers(const cs_ring_record *record) {
  const cs_ring_registers *registers = &record->registers;
  uint32_t code = 0;
  memcpy(&code, record->instruction, sizeof code);
  for (uint64_t number = 0; number <= 28; number++) {
    if (registers->general[number] != 0x1000 + number) return false;
  }
  return registers->general_count == 33 && registers->general[31] == record->stack_start &&
         registers->general[32] == record->frames[0].pc && record->address == record->frames[0].pc &&
         code == 0xd4200020 && record->instruction_bytes == 16 && registers->fault_address == 0 &&
         registers->error_code == 0 && record->stack_bytes > 0;
}

FUNCTION void call_point_registers(void) {
  static uint8_t blocks[32 * 256];
  point_registers(blocks);
  depth = 15;
}

// A record has at most 17 memory ranges, so the handler first records the memory at the registers that Swift uses.
static bool has_most_useful_memory(const cs_ring_record *record) {
  const int wanted[] = {20, 0, 1, 2, 3, 4, 5, 6, 7, 8};
  for (size_t index = 0; index < sizeof wanted / sizeof wanted[0]; index++) {
    const uint64_t address = record->registers.general[wanted[index]];
    bool is_found = false;
    for (uint32_t at = 0; at < record->memory_count; at++)
      is_found = is_found || address - record->memory[at].start < record->memory[at].bytes;
    if (!is_found) return false;
  }
  return record->memory_count <= CS_RING_MEMORY_LIMIT;
}

FUNCTION void call_abort(void) {
  abort();
}

FUNCTION void call_misaligned(void) {
  static uint8_t bytes[32];
  misaligned((void *)((uintptr_t)bytes | 1));
  depth = 12;
}

FUNCTION void beyond_file(void) {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const int short_file = memfd_create("short", MFD_CLOEXEC);
  if (file < 0 || ftruncate(short_file, 1) != 0) return;
  volatile char *bytes = mmap(NULL, 1 << 20, PROT_READ, MAP_SHARED, short_file, 0);
  depth = bytes[1 << 19];
}

FUNCTION void call_undefined(void) {
  undefined();
  depth = 13;
}

// The processor ignores the highest byte of an address. This address has more than 48 bits also without that byte.
FUNCTION void far_read(void) {
  const uint64_t volatile address = UINT64_C(0x5523000012345678);
  depth = *(volatile const int *)(uintptr_t)address;
}

const crash crashes[] = {
    {"trap", call_trap, SIGTRAP, TRAP_BRKPT, {"crash_trap", "call_trap", "*", "main"}, is_found_by_tables},
    {"leaf", call_leaf, SIGSEGV, SEGV_MAPERR, {"leaf_write", "call_leaf", "*", "main"}, is_leaf_right},
    {"qsort",
     sort,
     SIGTRAP,
     TRAP_BRKPT,
     {"crash_trap", "compare_and_trap", "*", "sort", "*", "main"},
     is_found_by_tables},
    {"handler",
     call_raise,
     SIGTRAP,
     TRAP_BRKPT,
     {"crash_trap", "handle_and_trap", "*", "call_raise", "*", "main"},
     has_interrupted},
    {"interrupted leaf",
     call_leaf_kill,
     SIGTRAP,
     TRAP_BRKPT,
     {"crash_trap", "handle_and_trap", "-", "leaf_kill", "call_leaf_kill", "*", "main"},
     has_interrupted},
    {"handler without tables",
     call_kill_without_tables,
     SIGTRAP,
     TRAP_BRKPT,
     {"crash_trap", "handle_without_tables", "-", "leaf_kill", "call_kill_without_tables", "*", "main"},
     NULL},
    {"null call", call_null, SIGSEGV, SEGV_MAPERR, {"-", "call_null", "*", "main"}, is_caller_of_null},
    {"no tables",
     call_no_tables,
     SIGTRAP,
     TRAP_BRKPT,
     {"crash_trap", "no_tables", "call_no_tables", "*", "main"},
     is_found_by_frame_pointer},
    {"async",
     call_async,
     SIGTRAP,
     TRAP_BRKPT,
     {"crash_trap", "async_function", "call_async", "*", "main"},
     has_async_callers},
    {"async prologue",
     call_async_entry,
     SIGTRAP,
     TRAP_BRKPT,
     {"async_entry", "call_async_entry", "*", "main"},
     has_async_callers},
    {"registers", fill_registers, SIGTRAP, TRAP_BRKPT, {"fill_registers"}, has_all_registers},
    {"memory",
     call_point_registers,
     SIGTRAP,
     TRAP_BRKPT,
     {"point_registers", "call_point_registers", "*", "main"},
     has_most_useful_memory},
    {"abort", call_abort, SIGABRT, SI_TKILL, {"*", "call_abort", "*", "main"}, is_found_by_tables},
    {"alignment", call_misaligned, SIGBUS, BUS_ADRALN, {"misaligned", "call_misaligned", "*", "main"}, NULL},
    {"end of file", beyond_file, SIGBUS, BUS_ADRERR, {"beyond_file", "*", "main"}, NULL},
    {"undefined", call_undefined, SIGILL, 0, {"undefined", "call_undefined", "*", "main"}, is_found_by_tables},
    {"far address", far_read, SIGSEGV, 0, {"far_read", "*", "main"}, is_found_by_tables},
};

const size_t crash_count = sizeof crashes / sizeof crashes[0];
