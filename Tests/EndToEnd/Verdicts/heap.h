// Makes heaps like those of running programs, and leaves pointers to freed blocks in registers and stack frames where
// crashd could mistake them for the cause of a crash.
#ifndef CS_VERDICTS_HEAP_H
#define CS_VERDICTS_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STALE_LIMIT 64

// Freed blocks that no test code dereferences.
extern void *heap_stale[STALE_LIMIT];
// Whether a fault happens with pointers to freed blocks in all registers that it does not use.
extern bool heap_fills_registers;

// Brings the heap into a state: fresh, churned, freed, patterned or registers. Another name ends the program with
// status 2.
void heap_prepare(const char *state, uint64_t seed);

// Returns the usable bytes of a block.
size_t heap_size(const void *block);

// Prepares the free of a block. With "full" it frees other blocks of the same size first, which fill the thread's cache
// of that size. With another age it frees nothing.
void heap_make_room(const char *age, const void *block);

// Simulates the time between the free of a block and its use. With "fresh" and "full" nothing happens. With "reused"
// blocks of the same size are allocated. With "aged" the program allocates and frees other blocks.
void heap_age(const char *age, size_t size);

// Protects a class if the preloaded library has the quarantine (quarantine.c): its objects stay allocated after their
// last release. `probe` is the metadata of a class that this process will not protect, `instance` an object of that
// class and `size` the object's size in bytes.
void heap_protect(const void *metadata, const void *probe, const void *instance, uint64_t size);

// Evicts all objects of the quarantine, so that only their freed-object records remain. Returns whether there is a
// quarantine.
bool heap_evict(void);

// Returns the next random number of the seed.
uint64_t heap_random(void);

// Calls a function while its caller's frame has pointers to freed blocks.
void heap_call(void (*function)(void));

// Reads, writes or calls an address. In the state "registers", other registers then have pointers to freed blocks.
void heap_read(uint64_t address);
void heap_write(uint64_t address);
void heap_jump(uint64_t address);

// Returns the value, which the optimizer then cannot predict.
static inline uint64_t heap_opaque(uint64_t value) {
  __asm__ volatile("" : "+r"(value));
  return value;
}

#endif
