// Crashes of a C program that do not use freed memory. Registers or the stack can point to freed blocks nevertheless.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap.h"

#define FAULT static __attribute__((noinline))

struct node {
  uint64_t number;
  struct node *next;
  void (*visit)(struct node *);
  char name[24];
};

FAULT void visit(struct node *node) {
  heap_opaque(node->number);
}

static struct node *make_node(void) {
  struct node *node = malloc(sizeof *node);
  if (node == NULL) _exit(3);
  *node = (struct node){.number = heap_random() % 1000, .next = node, .visit = visit};
  return node;
}

FAULT void null_read(void) {
  heap_read(0);
}
FAULT void null_write(void) {
  heap_write(0);
}
FAULT void null_jump(void) {
  heap_jump(0);
}
FAULT void null_offset(void) {
  heap_read(heap_random() % 4096 & ~7ull);
}
FAULT void small_number(void) {
  heap_read(65536 + heap_random() % (1 << 24));
}

// Returns a canonical address in a region in which Linux maps memory only on explicit request.
static uint64_t wild(void) {
  return UINT64_C(0x100000000000) + heap_random() % UINT64_C(0x300000000000);
}
FAULT void wild_read(void) {
  heap_read(wild());
}
FAULT void wild_write(void) {
  heap_write(wild() & ~7ull);
}
FAULT void wild_jump(void) {
  heap_jump(wild());
}

static uint64_t non_canonical(void) {
  return heap_random() | UINT64_C(0x4000000000000000);
}
FAULT void non_canonical_read(void) {
  heap_read(non_canonical());
}
FAULT void non_canonical_write(void) {
  heap_write(non_canonical());
}
FAULT void non_canonical_jump(void) {
  heap_jump(non_canonical());
}

FAULT void poison_read(void) {
  static const uint64_t patterns[] = {
      UINT64_C(0x4141414141414141), UINT64_C(0x5555555555555555), UINT64_C(0xaaaaaaaaaaaaaaaa),
      UINT64_C(0xdeadbeefdeadbeef), UINT64_C(0xe5e5e5e5e5e5e5e5), UINT64_C(0xfeeefeeefeeefeee),
      UINT64_C(0xcdcdcdcdcdcdcdcd), UINT64_C(0x00000000deadbeef), UINT64_C(0xefed000012348000),
      UINT64_C(0x0000000155555555), UINT64_C(0x6b6b6b6b6b6b6b6b), UINT64_C(0x00007fffdeadbee8)};
  heap_read(patterns[heap_random() % (sizeof patterns / sizeof *patterns)]);
}

// Follows a pointer to a live node in which one bit is wrong. The wrong bit is so high that the address is outside of
// the heap.
FAULT void bit_flip(void) {
  struct node *node = make_node();
  const uint64_t flipped = (uint64_t)(uintptr_t)node ^ UINT64_C(1) << (32 + heap_random() % 31);
  struct node *wrong = (struct node *)(uintptr_t)heap_opaque(flipped);
  heap_opaque(node->number + wrong->number);
}

// Follows a pointer to which multiples of 2^32 were added. Retains of a freed block also add such multiples, but this
// control has no freed block.
FAULT void distant(void) {
  struct node *node = make_node();
  heap_read((uint64_t)(uintptr_t)node + (heap_random() % 64 + 16) * UINT64_C(0x100000000));
}

// Follows a pointer that was truncated to its lower 32 bits.
FAULT void truncated(void) {
  heap_read((uint32_t)(uintptr_t)make_node());
}
FAULT void sign_extended(void) {
  heap_read((uint64_t)(int64_t)(int32_t)(uintptr_t)make_node());
}

FAULT void jump_to_heap(void) {
  heap_jump((uint64_t)(uintptr_t)make_node());
}
FAULT void jump_to_stack(void) {
  volatile uint64_t code[4] = {0xc3};
  heap_jump((uint64_t)(uintptr_t)code);
}
FAULT void jump_to_data(void) {
  static uint64_t code[4] = {0xc3};
  heap_jump((uint64_t)(uintptr_t)code);
}

// Calls a wrong function pointer from a live node, while a register points to the freed block that was allocated before
// this node.
FAULT void call_beside_freed(void) {
  struct node *freed = make_node();
  struct node *node = make_node();
  node->visit = (void (*)(struct node *))(uintptr_t)(heap_random() % 2 == 0 ? wild() : non_canonical());
  struct node *stale = (struct node *)(uintptr_t)heap_opaque((uint64_t)(uintptr_t)freed);
  free(freed);
  node->visit(stale);
  heap_opaque((uint64_t)(uintptr_t)stale);
}

// Reads through a wrong pointer from a live node, while a register points to the freed block that was allocated before
// this node.
FAULT void read_beside_freed(void) {
  struct node *freed = make_node();
  struct node *node = make_node();
  node->next = (struct node *)(uintptr_t)wild();
  struct node *stale = (struct node *)(uintptr_t)heap_opaque((uint64_t)(uintptr_t)freed);
  free(freed);
  heap_opaque(node->next->number + (uint64_t)(uintptr_t)stale);
}

// A link of a list. make_link() makes the last link, whose `next` is null, and stays null when the link is freed.
struct link {
  uint64_t number;
  char name[8];
  struct link *next;
  uint64_t more;
};

static struct link *make_link(void) {
  struct link *link = malloc(sizeof *link);
  if (link == NULL) _exit(3);
  *link = (struct link){.number = heap_random() % 1000, .name = "link", .more = 3};
  return (struct link *)(uintptr_t)heap_opaque((uint64_t)(uintptr_t)link);
}

// Loads a null `next`, frees the link, and then reads through this `next`.
FAULT void null_from_freed(void) {
  struct link *link = make_link();
  struct link *next = link->next;
  free(link);
  heap_opaque(next->more + (uint64_t)(uintptr_t)link);
}

// Frees a link, and then reads through the null head of another list.
FAULT void null_beside_freed(void) {
  static struct link *volatile head;
  struct link *link = make_link();
  free(link);
  heap_opaque(head->more + (uint64_t)(uintptr_t)link);
}

// Frees a link, and then reads through the null `next` of a live link.
FAULT void null_of_neighbour(void) {
  struct link *link = make_link();
  struct link *other = make_link();
  free(link);
  heap_opaque(other->next->more + (uint64_t)(uintptr_t)link + (uint64_t)(uintptr_t)other);
}

// Reads through the null head of a list. Before the fault, the code has a load from a freed link, but a branch skips
// this load.
FAULT void null_at_join(void) {
  static struct link *volatile head;
  static volatile int is_stale;
  struct link *link = make_link();
  free(link);
  struct link *next = head;
  if (is_stale) next = link->next;
  heap_opaque(next->more + (uint64_t)(uintptr_t)link);
}

// Follows a pointer in a node. A string that was too long for its block has overwritten this pointer.
FAULT void overrun_pointer(void) {
  struct node *node = make_node();
  snprintf((char *)&node->number, 24, "%s", "/api/v1/customers/1234");
  heap_opaque(node->next->number);
}
FAULT void overrun_function(void) {
  struct node *node = make_node();
  memset(&node->visit, 0x30 + (int)(heap_random() % 10), sizeof node->visit);
  node->visit(node);
  heap_opaque(node->number);
}

// Returns a block whose size and contents the compiler cannot predict.
static char *block(size_t size) {
  return (char *)(uintptr_t)heap_opaque((uint64_t)(uintptr_t)malloc(size));
}

// Overwrites the allocator's metadata by a string that is too long. glibc detects this and aborts.
FAULT void overrun_heap(void) {
  char *first = block(1400);
  char *second = block(1400);
  char *third = block(1400);
  memset(first, 'x', 1400 + 24 + heap_random() % 8);
  free(second);
  free(first);
  free(third);
  heap_opaque((uint64_t)(uintptr_t)malloc(1400));
}
FAULT void overrun_top(void) {
  memset(block(40), 0x7f, 72);
  // If the overwritten block was not the last block of the heap, nothing detects the overrun, and the program survives.
  for (int count = 0; count < 64; count++)
    heap_opaque((uint64_t)(uintptr_t)malloc(60000));
}
FAULT void free_middle(void) {
  free(block(400) + 24);
}
FAULT void free_stack(void) {
  volatile char here[64] = {1};
  free((char *)(uintptr_t)heap_opaque((uint64_t)(uintptr_t)here) + 16);
}

FAULT void read_only_write(void) {
  heap_write((uint64_t)(uintptr_t)"a constant of this program");
}
FAULT void protected_read(void) {
  heap_read((uint64_t)(uintptr_t)mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 256);
}
FAULT void truncated_file(void) {
  int file = memfd_create("truncated", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, 4096) != 0) return;
  char *bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
  if (ftruncate(file, 0) == 0) heap_read((uint64_t)(uintptr_t)bytes);
}
// Uses an uninitialized block. The program follows a word that the allocator, or a previous owner of the block, left in
// the block.
struct entry {
  struct entry *next;
  void (*visit)(struct entry *);
};
FAULT void uninitialised(void) {
  static const size_t sizes[] = {sizeof(struct entry), 200, 1400};
  struct entry *entry = NULL;
  // Does not use the first blocks, because they can come from the top of the heap, which has only zeros.
  for (int round = 0; round < 4; round++) {
    entry = malloc(sizes[heap_random() % 3]);
    entry = (struct entry *)(uintptr_t)heap_opaque((uint64_t)(uintptr_t)entry);
    if (entry->next != NULL) break;
  }
  entry->next->visit(entry);
  heap_opaque((uint64_t)(uintptr_t)entry);
}

FAULT uint64_t descend(uint64_t depth) {
  volatile uint64_t here[32] = {depth};
  if (heap_opaque(depth) == UINT64_MAX) return here[0];
  return descend(depth + 1) + here[depth % 32];
}
FAULT void stack_overflow(void) {
  heap_opaque(descend(0));
}
static void *overflow_thread(void *unused) {
  stack_overflow();
  return unused;
}
FAULT void thread_overflow(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, overflow_thread, NULL) == 0) pthread_join(thread, NULL);
}

FAULT void trap(void) {
  __builtin_trap();
}
FAULT void assertion(void) {
  assert(heap_opaque(0) == 1);
}
FAULT void divide(void) {
  heap_opaque((uint64_t)((int64_t)heap_opaque(7) / (int64_t)heap_opaque(0)));
}

// Uses an unchecked index past the end of an array. The memory after the array is another block, with random numbers.
FAULT void index_beyond(void) {
  struct node **nodes = malloc(64 * sizeof *nodes);
  uint64_t *numbers = malloc(64 * sizeof *numbers);
  for (size_t index = 0; index < 64; index++)
    nodes[index] = make_node();
  for (size_t index = 0; index < 64; index++)
    numbers[index] = heap_random();
  heap_opaque(nodes[heap_opaque(64 + 8 + heap_random() % 32)]->number);
}

// Follows a number as if it were a pointer: a float, a time or a hash.
FAULT void number_as_pointer(void) {
  union {
    double number;
    uint64_t word;
  } price = {.number = (double)(heap_random() % 100000) / 100};
  const uint64_t words[] = {price.word, UINT64_C(1792000000000) + heap_random() % 1000000, (uint32_t)heap_random(),
                            UINT64_C(1792000000000000000) + heap_random() % 1000000};
  heap_read(words[heap_random() % 4] | 65536);
}

static const struct {
  const char *name;
  void (*fault)(void);
} kinds[] = {
    {"null-read", null_read},
    {"null-write", null_write},
    {"null-jump", null_jump},
    {"null-offset", null_offset},
    {"small-number", small_number},
    {"wild-read", wild_read},
    {"wild-write", wild_write},
    {"wild-jump", wild_jump},
    {"non-canonical-read", non_canonical_read},
    {"non-canonical-write", non_canonical_write},
    {"non-canonical-jump", non_canonical_jump},
    {"poison-read", poison_read},
    {"bit-flip", bit_flip},
    {"distant", distant},
    {"truncated", truncated},
    {"sign-extended", sign_extended},
    {"jump-to-heap", jump_to_heap},
    {"jump-to-stack", jump_to_stack},
    {"jump-to-data", jump_to_data},
    {"call-beside-freed", call_beside_freed},
    {"read-beside-freed", read_beside_freed},
    {"null-from-freed", null_from_freed},
    {"null-beside-freed", null_beside_freed},
    {"null-of-neighbour", null_of_neighbour},
    {"null-at-join", null_at_join},
    {"overrun-pointer", overrun_pointer},
    {"overrun-function", overrun_function},
    {"overrun-heap", overrun_heap},
    {"overrun-top", overrun_top},
    {"free-middle", free_middle},
    {"free-stack", free_stack},
    {"read-only-write", read_only_write},
    {"protected-read", protected_read},
    {"truncated-file", truncated_file},
    {"uninitialised", uninitialised},
    {"stack-overflow", stack_overflow},
    {"thread-overflow", thread_overflow},
    {"trap", trap},
    {"abort", abort},
    {"assertion", assertion},
    {"divide", divide},
    {"index-beyond", index_beyond},
    {"number-as-pointer", number_as_pointer},
};

int main(int count, char **arguments) {
  const size_t kind_count = sizeof kinds / sizeof *kinds;
  if (count == 2 && strcmp(arguments[1], "--list") == 0) {
    for (size_t index = 0; index < kind_count; index++)
      puts(kinds[index].name);
    return 0;
  }
  if (count != 4) return 2;
  heap_prepare(arguments[2], strtoull(arguments[3], NULL, 10));
  for (size_t index = 0; index < kind_count; index++)
    if (strcmp(kinds[index].name, arguments[1]) == 0) heap_call(kinds[index].fault);
  return 4;
}
