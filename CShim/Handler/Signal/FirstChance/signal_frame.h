// The frame that the kernel makes for a signal handler: a program's handler gets the one that was made for ours.
#ifndef CS_SIGNAL_FRAME_H
#define CS_SIGNAL_FRAME_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// The entry that the kernel calls: passes its frame to cs_handle() and calls the handler which that returns.
void cs_handler(int signal, siginfo_t *information, void *context) SIGNAL_SAFE;

typedef struct cs_signal_frame cs_signal_frame;

// A handler that is to be called as the kernel would, with the frame. When it returns, cs_signal_frame_returned() is
// called, and the thread goes on as the frame's context says.
typedef struct cs_signal_call {
  cs_signal_frame *frame; // NULL: none
  void (*handler)(int);
} cs_signal_call;

// The frame of a handler that got these; `called_at` is where its return address stands. NULL where not the kernel has
// called it, or where a shadow stack keeps account of returns.
cs_signal_frame *cs_signal_frame_of(const siginfo_t *information, const ucontext_t *context,
                                    const void *called_at) SIGNAL_SAFE;

ucontext_t *cs_signal_frame_context(cs_signal_frame *frame) SIGNAL_SAFE;
siginfo_t *cs_signal_frame_information(cs_signal_frame *frame) SIGNAL_SAFE;

// Whether the kernel changed over to the alternate stack for it.
bool cs_signal_frame_has_changed_stack(cs_signal_frame *frame) SIGNAL_SAFE;

// Copies it to the stack that was interrupted, as the kernel does for a handler without SA_ONSTACK. NULL: no room.
cs_signal_frame *cs_signal_frame_move(cs_signal_frame *frame) SIGNAL_SAFE;

// Has the frame return to us.
cs_signal_call cs_signal_frame_call(cs_signal_frame *frame, void (*handler)(int)) SIGNAL_SAFE;
void cs_signal_frame_returned(cs_signal_frame *frame) SIGNAL_SAFE;

// handler.c: handles the signal. `called_at` is where the return address of the call stands. Returns the program's
// handler that the entry calls next, or no frame.
cs_signal_call cs_handle(int signal, siginfo_t *information, void *context, const void *called_at) SIGNAL_SAFE;

// Called on the stack of the handler before it, for what must not happen on the stack of ours.
void cs_signal_frame_entered(cs_signal_frame *frame) SIGNAL_SAFE;

// Whether the frame of a handler is there still: false once other code has used its place.
bool cs_signal_frame_is_intact(uint64_t frame) SIGNAL_SAFE;

// Where the stack pointer was.
uint64_t cs_signal_frame_interrupted(const ucontext_t *context) SIGNAL_SAFE;

// Whether code with that stack pointer may have been called by the handler that has `frame`. `alternate` is the
// thread's alternate stack.
bool cs_signal_frame_is_below(uint64_t frame, const stack_t *alternate, uint64_t stack_pointer) SIGNAL_SAFE;

// Whether the registers that a thread goes on with are equal.
bool cs_signal_frame_is_equal(const ucontext_t *left, const ucontext_t *right) SIGNAL_SAFE;

// Whether what the context's fault wanted of `address` can be done now. true also where that is not known.
bool cs_signal_frame_is_repaired(const ucontext_t *context, uint64_t address) SIGNAL_SAFE;

#endif
