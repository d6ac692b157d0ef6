// The heap as a program leaves it behind, and freed blocks where a crash can meet them without being about them.
#ifndef CS_VERDICTS_HEAP_H
#define CS_VERDICTS_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STALE_LIMIT 64

// Freed blocks that nothing is to follow.
extern void *heap_stale[STALE_LIMIT];
// Whether a fault is to happen with freed blocks in all other registers.
extern bool heap_fills_registers;

// Brings the heap into a state: fresh, churned, freed, patterned, registers. Others end the program with status 2.
void heap_prepare(const char *state, uint64_t seed);

// The usable bytes of a block.
size_t heap_size(const void *block);

// Frees other blocks of a block's size first: full, its own thread keeps no more of them; fresh, this one is the first.
void heap_make_room(const char *age, const void *block);

// What happens between the free of a block and its use: fresh and full, nothing; reused, an allocation of its size;
// aged, the program goes on for a while.
void heap_age(const char *age, size_t size);

// Where the library has the quarantine (quarantine.c): keeps objects of this class after their last release from now
// on. `probe` is the metadata of a class that this process will not protect, `instance` an object of it, `size` its
// bytes.
void heap_protect(const void *metadata, const void *probe, const void *instance, uint64_t size);

// Evicts all of the quarantine, so that freed-object records remain. Returns whether there is a quarantine.
bool heap_evict(void);

// The next random number of the seed.
uint64_t heap_random(void);

// Calls a function with freed blocks in the frame above it.
void heap_call(void (*function)(void));

// A read, a write and a call, in registers of freed blocks where the state says so.
void heap_read(uint64_t address);
void heap_write(uint64_t address);
void heap_jump(uint64_t address);

// What no optimizer knows.
static inline uint64_t heap_opaque(uint64_t value) {
  __asm__ volatile("" : "+r"(value));
  return value;
}

#endif
