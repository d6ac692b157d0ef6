// The growing tables of one image. Each string, location and function is stored once.
#pragma once

#include "cs_libdw.h"

/// The reason why a table stopped growing. The reason is never cleared. After a failure, all functions of this header
/// return harmless values, and callers check for the failure once per compilation unit.
enum cs_store_failure { CS_STORE_GOOD, CS_STORE_OUT_OF_MEMORY, CS_STORE_TOO_LARGE };

/// A growing array.
struct cs_buffer {
  void *items;
  size_t count;
  size_t capacity;
};

struct cs_index_slot {
  uint32_t hash;
  uint32_t item_plus_one; // the slot is free if this number is at most the index's `forgotten`
};

/// A hash table of the items of an array.
struct cs_index {
  struct cs_index_slot *slots;
  size_t capacity; // number of slots, which is a power of two
  size_t count;
  uint32_t forgotten; // the first `forgotten` items of the array are no longer in the table
};

struct cs_memo_slot {
  uint64_t key;
  uint32_t value;
  uint32_t used;
};

/// A hash table that caches results which are expensive to compute.
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

/// A line in a function, and the location into which the function was inlined.
struct cs_place {
  uint32_t function;
  uint32_t file;
  uint32_t line;
  uint32_t column;
  uint32_t parent;
};

bool cs_store_begin(struct cs_store *store);
void cs_store_free(struct cs_store *store);

/// Appends room for `count` uninitialized items. Returns NULL and records the failure if memory is exhausted.
void *cs_buffer_extend(struct cs_store *store, struct cs_buffer *buffer, size_t count, size_t item_bytes);
void cs_buffer_free(struct cs_buffer *buffer);

/// Removes the locations of previous units from the index. A unit hardly ever shares locations with an earlier unit,
/// because the outermost function of each chain of inlined calls belongs to one unit. An index of one unit fits into
/// the processor's cache, but an index of all units does not.
void cs_store_begin_unit(struct cs_store *store);

/// Returns the offset of the string. The offset of NULL and "" is 0.
uint32_t cs_store_string(struct cs_store *store, const char *text);
/// Returns the index of the location for a line in a function. A column that does not fit into its bits becomes
/// unknown.
uint32_t cs_store_location(struct cs_store *store, struct cs_place place);
uint32_t cs_store_function(struct cs_store *store, struct cs_symbols_function function);

/// Returns the slot for the value of `key`. If the slot is new, its member `used` is 0. Returns NULL if memory is
/// exhausted.
struct cs_memo_slot *cs_memo_find(struct cs_store *store, struct cs_memo *memo, uint64_t key);
void cs_memo_free(struct cs_memo *memo);
