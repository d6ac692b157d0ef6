// The signal frame: what the kernel stores on the stack when it calls a signal handler, such as the registers of the
// interrupted code. The shield calls the program's handler with the frame that the kernel made for our handler.
#ifndef CS_SIGNAL_FRAME_H
#define CS_SIGNAL_FRAME_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// The code that the kernel calls as the signal handler. It passes the kernel's frame to cs_handle(), and then calls the
// program's handler that cs_handle() returns.
void cs_handler(int signal, siginfo_t *information, void *context) SIGNAL_SAFE;

typedef struct cs_signal_frame cs_signal_frame;

// A call of a handler of the program: our code calls it with this frame, in the same way as the kernel. When the
// handler returns, cs_signal_frame_returned() is called, and the thread continues with the frame's context.
typedef struct cs_signal_call {
  cs_signal_frame *frame; // NULL: no call
  void (*handler)(int);
} cs_signal_call;

// Returns the signal frame of a handler that was called with these arguments. `called_at` is the stack pointer at the
// start of the handler. Returns NULL if the kernel did not call the handler, or if a shadow stack (CET, GCS) is on,
// because it would detect that the shield changes the handler's return address.
cs_signal_frame *cs_signal_frame_of(const siginfo_t *information, const ucontext_t *context,
                                    const void *called_at) SIGNAL_SAFE;

ucontext_t *cs_signal_frame_context(cs_signal_frame *frame) SIGNAL_SAFE;
siginfo_t *cs_signal_frame_information(cs_signal_frame *frame) SIGNAL_SAFE;

// Returns whether the kernel switched to the alternate stack for this frame.
bool cs_signal_frame_has_changed_stack(cs_signal_frame *frame) SIGNAL_SAFE;

// Copies the frame to the interrupted stack, where the kernel places it for a handler without SA_ONSTACK. Returns NULL
// if the interrupted stack has no space.
cs_signal_frame *cs_signal_frame_move(cs_signal_frame *frame) SIGNAL_SAFE;

// Lets the stack grow down to `start`. Returns whether the addresses from `start` to `end` are writable.
bool cs_signal_frame_room_is_writable(uint64_t start, uint64_t end) SIGNAL_SAFE;

// Changes the frame so that the handler returns to cs_signal_frame_returned(). Returns the call to make.
cs_signal_call cs_signal_frame_call(cs_signal_frame *frame, void (*handler)(int)) SIGNAL_SAFE;
void cs_signal_frame_returned(cs_signal_frame *frame) SIGNAL_SAFE;

// handler.c: handles a signal. `called_at` is the stack pointer at the start of the handler. Returns the call of a
// program's handler to make next, or a call without a frame.
cs_signal_call cs_handle(int signal, siginfo_t *information, void *context, const void *called_at) SIGNAL_SAFE;

// This function is called before the program's handler, on the stack of that handler. Sets the signal mask of that
// handler.
void cs_signal_frame_entered(cs_signal_frame *frame) SIGNAL_SAFE;

// Returns whether the signal frame of a handler is still intact: other code has not overwritten it on the stack.
bool cs_signal_frame_is_intact(uint64_t frame) SIGNAL_SAFE;

// Returns the stack pointer of the interrupted code.
uint64_t cs_signal_frame_interrupted(const ucontext_t *context) SIGNAL_SAFE;

// Returns whether code with this stack pointer can be the handler whose signal frame is `frame`, or a function that the
// handler called. `alternate` is the thread's alternate stack.
bool cs_signal_frame_is_below(uint64_t frame, const stack_t *alternate, uint64_t stack_pointer) SIGNAL_SAFE;

// Returns whether both contexts contain the same values of all registers that the kernel restores.
bool cs_signal_frame_is_equal(const ucontext_t *left, const ucontext_t *right) SIGNAL_SAFE;

// Returns whether the access that caused the fault would now succeed, because a handler has repaired the fault. Also
// returns true if this code cannot determine the access. `context` is the context in the signal frame of the fault.
bool cs_signal_frame_is_repaired(const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE;

// Returns whether an access to `address` succeeds.
bool cs_signal_frame_access_works(uint64_t address, bool is_write) SIGNAL_SAFE;

#endif
