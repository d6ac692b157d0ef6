// The first instructions of malloc, free, realloc and malloc_usable_size: a call that does not concern the slots
// (pages.h) jumps to the next allocator, for example glibc's. interpose.c includes this file once.
#ifndef CS_FORWARD_X86_64_H
#define CS_FORWARD_X86_64_H
#if defined(__x86_64__)

// Sizes below the limit, and addresses inside the slots, take the slow path. Until the next allocator is known, all
// calls take the slow path.
#define FORWARD_ADDRESS(name, slow, next)                                                                              \
  ".globl " name "\n"                                                                                                  \
  ".type " name ", @function\n"                                                                                        \
  ".p2align 4\n" name ":\n"                                                                                            \
  ".cfi_startproc\n"                                                                                                   \
  "movq %rdi, %rax\n"                                                                                                  \
  "subq cs_pages_start(%rip), %rax\n"                                                                                  \
  "cmpq cs_pages_map_bytes(%rip), %rax\n"                                                                              \
  "jb " slow "\n"                                                                                                      \
  "jmpq *" next "(%rip)\n"                                                                                             \
  ".cfi_endproc\n"                                                                                                     \
  ".size " name ", .-" name "\n"

__asm__(".text\n"
        ".globl malloc\n"
        ".type malloc, @function\n"
        ".globl cs_pages_own_malloc\n"
        ".hidden cs_pages_own_malloc\n"
        ".type cs_pages_own_malloc, @function\n"
        ".p2align 4\n"
        "malloc:\n"
        "cs_pages_own_malloc:\n"
        ".cfi_startproc\n"
        "cmpq cs_pages_limit(%rip), %rdi\n"
        "jb cs_pages_malloc\n"
        "jmpq *cs_pages_next_of_malloc(%rip)\n"
        ".cfi_endproc\n"
        ".size malloc, .-malloc\n"
        ".size cs_pages_own_malloc, .-cs_pages_own_malloc\n" //
        FORWARD_ADDRESS("free", "cs_pages_free", "cs_pages_next_of_free")
            FORWARD_ADDRESS("realloc", "cs_pages_realloc", "cs_pages_next_of_realloc")
                FORWARD_ADDRESS("malloc_usable_size", "cs_pages_usable_size", "cs_pages_next_of_size"));

#endif
#endif
