// The growing tables of one image: each string, location and function is stored once.
#pragma once

#include "cs_libdw.h"

/// Why a table stopped growing. It stays set; callers continue with harmless values and check it once per unit.
enum cs_store_failure { CS_STORE_GOOD, CS_STORE_OUT_OF_MEMORY, CS_STORE_TOO_LARGE };

/// A growing array.
struct cs_buffer {
  void *items;
  size_t count;
  size_t capacity;
};

struct cs_index_slot {
  uint32_t hash;
  uint32_t item_plus_one; // free when not above the index's `forgotten`
};

/// A hash table over the items of an array.
struct cs_index {
  struct cs_index_slot *slots;
  size_t capacity; // a power of two
  size_t count;
  uint32_t forgotten; // so many of the first items are not looked for any more
};

struct cs_memo_slot {
  uint64_t key;
  uint32_t value;
  uint32_t used;
};

/// Caches a result that is expensive to compute.
struct cs_memo {
  struct cs_memo_slot *slots;
  size_t capacity;
  size_t count;
};

struct cs_store {
  struct cs_buffer strings;
  struct cs_buffer locations;
  struct cs_buffer contexts;
  struct cs_buffer functions;
  struct cs_buffer ranges;
  struct cs_index string_index;
  struct cs_index location_index;
  struct cs_index context_index;
  struct cs_index function_index;
  enum cs_store_failure failure;
};

/// A line in a function, and the location that this function was inlined into.
struct cs_place {
  uint32_t function;
  uint32_t file;
  uint32_t line;
  uint32_t column;
  uint32_t parent;
};

bool cs_store_begin(struct cs_store *store);
void cs_store_free(struct cs_store *store);

/// Room for `count` more items, uninitialized; NULL (with the failure recorded) when there is none.
void *cs_buffer_extend(struct cs_store *store, struct cs_buffer *buffer, size_t count, size_t item_bytes);
void cs_buffer_free(struct cs_buffer *buffer);

/// Forgets the locations so far: the next unit hardly ever uses those of one unit, since their chains end in a function
/// of that unit. A small table stays in the processor's cache, one for all units does not.
void cs_store_begin_unit(struct cs_store *store);

/// Offset of the string; NULL and "" are 0.
uint32_t cs_store_string(struct cs_store *store, const char *text);
/// The location of a place. Columns beyond what a location holds are unknown.
uint32_t cs_store_location(struct cs_store *store, struct cs_place place);
uint32_t cs_store_function(struct cs_store *store, struct cs_symbols_function function);

/// The slot for the value of `key`: `used` is 0 when it is new. NULL when memory is exhausted.
struct cs_memo_slot *cs_memo_find(struct cs_store *store, struct cs_memo *memo, uint64_t key);
void cs_memo_free(struct cs_memo *memo);
