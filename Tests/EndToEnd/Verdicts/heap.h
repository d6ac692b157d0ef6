// Creates heap states like those of running programs, and leaves pointers to freed blocks in registers and stack
// frames. crashd must not mistake such a pointer for the cause of a crash.
#ifndef CS_VERDICTS_HEAP_H
#define CS_VERDICTS_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STALE_LIMIT 64

// Addresses of freed blocks, which no code of the tests dereferences.
extern void *heap_stale[STALE_LIMIT];
// Whether all registers, except those of the faulting instruction, point to freed blocks.
extern bool heap_fills_registers;

// Brings the heap into the given state: fresh, churned, freed, patterned or registers. An unknown name ends the program
// with status 2.
void heap_prepare(const char *state, uint64_t seed);

// Returns the usable size of a block in bytes.
size_t heap_size(const void *block);

// The programs call this function before they free a block. If the age is "full", it frees other blocks of the same
// size, so that the block does not fit into the thread's cache (tcache) any more. Otherwise it does nothing.
void heap_make_room(const char *age, const void *block);

// Simulates the time between the free of a block and the use of the freed block, which the age names. With the ages
// "fresh" and "full" this function does nothing. With "reused" it allocates blocks of the same size. With "aged" it
// allocates and frees other blocks.
void heap_age(const char *age, size_t size);

// Protects a class, if the preloaded library has the quarantine (quarantine.c). The quarantine keeps objects of a
// protected class allocated after their last release. `probe` is the metadata of a class that this process will not
// protect. `instance` is an object of that class, and `size` is the object's size in bytes.
void heap_protect(const void *metadata, const void *probe, const void *instance, uint64_t size);

// Evicts all objects from the quarantine. Only their freed-object records remain. Returns whether the preloaded library
// has a quarantine.
bool heap_evict(void);

// Returns the next random number of the generator that heap_prepare() seeds.
uint64_t heap_random(void);

// Calls a function while its caller's frame contains pointers to freed blocks.
void heap_call(void (*function)(void));

// Reads from, writes to or calls an address. In the heap state "registers", all other registers point to freed blocks
// when this instruction runs.
void heap_read(uint64_t address);
void heap_write(uint64_t address);
void heap_jump(uint64_t address);

// Returns the value unchanged. The optimizer cannot predict it.
static inline uint64_t heap_opaque(uint64_t value) {
  __asm__ volatile("" : "+r"(value));
  return value;
}

#endif
