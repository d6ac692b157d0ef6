// The first instructions of malloc, free, realloc and malloc_usable_size: a call that does not concern the slots
// (pages.h) jumps to the next allocator, for example glibc's. interpose.c includes this file once.
#ifndef CS_FORWARD_AARCH64_H
#define CS_FORWARD_AARCH64_H
#if defined(__aarch64__)

// Loads a variable of this library into the register x`number`.
#define LOAD(number, name)                                                                                             \
  "adrp x" number ", " name "\n"                                                                                       \
  "ldr x" number ", [x" number ", :lo12:" name "]\n"

// Jumps to the next allocator. malloc loads cs_pages_limit before this macro loads the address of the next allocator,
// and nothing orders the two loads. A thread can thus see the limit that setup stores once the next allocator is known,
// and still read null as the address. If the address is null, the thread takes the slow path, which orders the loads.
// With branch target identification, a jump through the register x16 is allowed to reach a landing pad for calls (`bti
// c`).
#define JUMP(slow, next)                                                                                               \
  LOAD("16", next)                                                                                                     \
  "cbz x16, 1f\n"                                                                                                      \
  "br x16\n"                                                                                                           \
  "1: b " slow "\n"

#define BEGIN(name)                                                                                                    \
  ".globl " name "\n"                                                                                                  \
  ".type " name ", %function\n" name ":\n"

// Sizes below the limit, and addresses inside the slots, take the slow path. Until the next allocator is known, all
// calls take the slow path. A conditional branch reaches only 1 MiB, so a branch without a condition jumps to the slow
// path.
#define FORWARD_ADDRESS(name, slow, next)                                                                              \
  ".p2align 4\n" BEGIN(name) ".cfi_startproc\n"                                                                        \
                             "hint #34\n" LOAD("16", "cs_pages_start")                                                 \
                                 LOAD("17", "cs_pages_map_bytes") "sub x16, x0, x16\n"                                 \
                                                                  "cmp x16, x17\n"                                     \
                                                                  "b.lo 1f\n" JUMP(slow, next) ".cfi_endproc\n"        \
                                                                                               ".size " name           \
                                                                                               ", .-" name "\n"

__asm__(".text\n"
        ".hidden cs_pages_own_malloc\n"
        ".p2align 4\n" BEGIN("malloc") BEGIN(
            "cs_pages_own_malloc") ".cfi_startproc\n"
                                   "hint #34\n" LOAD(
                                       "16",
                                       "cs_pages_limit") "cmp x0, x16\n"
                                                         "b.lo 1f\n" JUMP(
                                                             "cs_pages_malloc",
                                                             "cs_pages_next_of_malloc") ".cfi_endproc\n"
                                                                                        ".size malloc, .-malloc\n"
                                                                                        ".size cs_pages_own_malloc, "
                                                                                        ".-cs_pages_own_malloc\n" //
        FORWARD_ADDRESS("free", "cs_pages_free", "cs_pages_next_of_free")
            FORWARD_ADDRESS("realloc", "cs_pages_realloc", "cs_pages_next_of_realloc")
                FORWARD_ADDRESS("malloc_usable_size", "cs_pages_usable_size", "cs_pages_next_of_size"));

#endif
#endif
