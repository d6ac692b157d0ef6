// Evaluates the DWARF expressions in call frame information, which occur, for example, in the rules for the procedure
// linkage table (PLT) and for signal frames.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "cfi.h"

#include "cfi_reader.h"

#define STACK_LIMIT 32
// The maximum number of operations that are executed. The limit is necessary, because an expression can contain a loop.
// Expressions that compilers generate need fewer operations.
#define STEP_LIMIT 256

typedef struct evaluator {
  cs_cfi_reader reader;
  const uint64_t *registers;
  cs_memory *memory;
  uint32_t depth;
  bool is_bad;
  uint64_t stack[STACK_LIMIT];
} evaluator;

static void push(evaluator *run, uint64_t value) SIGNAL_SAFE {
  if (run->depth == STACK_LIMIT) {
    run->is_bad = true;
  } else {
    run->stack[run->depth++] = value;
  }
}

static uint64_t pop(evaluator *run) SIGNAL_SAFE {
  if (run->depth == 0) {
    run->is_bad = true;
    return 0;
  }
  return run->stack[--run->depth];
}

static void dereference(evaluator *run) SIGNAL_SAFE {
  uint64_t word = 0;
  if (!cs_memory_read_word(run->memory, pop(run), &word)) run->is_bad = true;
  push(run, word);
}

static void push_register(evaluator *run, uint64_t index, int64_t offset) SIGNAL_SAFE {
  if (index >= CS_REGISTER_COUNT) {
    run->is_bad = true;
  } else {
    push(run, run->registers[index] + (uint64_t)offset);
  }
}

// Applies a binary operation. `right` is the value that was on top of the stack.
static uint64_t binary(uint8_t operation, uint64_t left, uint64_t right, bool *ret_is_bad) SIGNAL_SAFE {
  switch (operation) {
  case 0x1a:
    return left & right;
  case 0x1c:
    return left - right;
  case 0x1e:
    return left * right;
  case 0x21:
    return left | right;
  case 0x22:
    return left + right;
  case 0x24:
    return right < 64 ? left << right : 0;
  case 0x25:
    return right < 64 ? left >> right : 0;
  case 0x26:
    return (uint64_t)((int64_t)left >> (right < 64 ? right : 63));
  case 0x27:
    return left ^ right;
  case 0x29:
    return left == right;
  case 0x2a:
    return (int64_t)left >= (int64_t)right;
  case 0x2b:
    return (int64_t)left > (int64_t)right;
  case 0x2c:
    return (int64_t)left <= (int64_t)right;
  case 0x2d:
    return (int64_t)left < (int64_t)right;
  case 0x2e:
    return left != right;
  default:
    *ret_is_bad = true;
    return 0;
  }
}

static void run_binary(evaluator *run, uint8_t operation) SIGNAL_SAFE {
  const uint64_t right = pop(run);
  const uint64_t left = pop(run);
  push(run, binary(operation, left, right, &run->is_bad));
}

static void run_constant(evaluator *run, uint8_t operation) SIGNAL_SAFE {
  cs_cfi_reader *reader = &run->reader;
  if (operation == 0x10) {
    push(run, cs_cfi_uleb(reader));
  } else if (operation == 0x11) {
    push(run, (uint64_t)cs_cfi_sleb(reader));
  } else {
    // const1u, const1s, const2u … const8s: 0x08 … 0x0f
    const size_t size = (size_t)1 << ((operation - 0x08) / 2);
    const bool is_signed = (operation & 1) != 0;
    push(run, is_signed ? (uint64_t)cs_cfi_fixed_signed(reader, size) : cs_cfi_fixed(reader, size));
  }
}

static void run_operation(evaluator *run, uint8_t operation) SIGNAL_SAFE {
  if (operation >= 0x70 && operation <= 0x8f) { // breg0 … breg31
    push_register(run, operation - 0x70u, cs_cfi_sleb(&run->reader));
  } else if (operation >= 0x30 && operation <= 0x4f) { // lit0 … lit31
    push(run, operation - 0x30u);
  } else if (operation >= 0x08 && operation <= 0x11) {
    run_constant(run, operation);
  } else if (operation == 0x06) {
    dereference(run);
  } else if (operation == 0x12) { // dup
    const uint64_t top = pop(run);
    push(run, top);
    push(run, top);
  } else if (operation == 0x13) { // drop
    pop(run);
  } else if (operation == 0x16) { // swap
    const uint64_t top = pop(run);
    const uint64_t next = pop(run);
    push(run, top);
    push(run, next);
  } else if (operation == 0x23) { // plus_uconst
    push(run, pop(run) + cs_cfi_uleb(&run->reader));
  } else if (operation == 0x92) { // bregx
    const uint64_t index = cs_cfi_uleb(&run->reader);
    push_register(run, index, cs_cfi_sleb(&run->reader));
  } else if (operation != 0x96) { // nop
    run_binary(run, operation);
  }
}

bool cs_cfi_evaluate(const uint8_t *expression, size_t size, const uint64_t registers[CS_REGISTER_COUNT],
                     cs_memory *memory, bool has_initial, uint64_t initial, uint64_t *ret_value) SIGNAL_SAFE {
  evaluator run = {
      .reader = cs_cfi_reader_make(expression, expression + size), .registers = registers, .memory = memory};
  if (has_initial) push(&run, initial);
  for (unsigned step = 0; step < STEP_LIMIT && !cs_cfi_reader_is_at_end(&run.reader) && !run.is_bad; step++) {
    run_operation(&run, cs_cfi_byte(&run.reader));
  }
  const bool is_complete = run.reader.at == run.reader.end;
  if (run.is_bad || run.reader.is_bad || !is_complete || run.depth == 0) return false;
  *ret_value = run.stack[run.depth - 1];
  return true;
}

#endif
