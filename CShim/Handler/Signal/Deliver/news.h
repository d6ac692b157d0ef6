// Announces incidents to crashd while the process runs (docs/decisions/0125). The listener is the shield's thread that
// keeps the connection to crashd. A thread that records an incident sends the listener a signal, and the listener wakes
// crashd. Incidents during a pause after that are announced together.
#ifndef CS_NEWS_H
#define CS_NEWS_H

#include <stdbool.h>

#include "cs_signal_safe.h"

// Announces that the ring contains a new incident. Concurrency: any thread may call this function, also in a signal
// handler.
void cs_news_add(void) SIGNAL_SAFE;

// For the listener, outside of a pause: returns whether there are new incidents, for which to wake crashd. After it has
// returned true, later incidents send no signal until a call returns false.
bool cs_news_take(void) SIGNAL_SAFE;

// Makes the thread `tid` the listener, and stores in the ring that crashd need not poll. Precondition: the thread
// blocks CS_OWN_BELL.
void cs_news_listen(int tid) SIGNAL_SAFE;

// Removes the listener. Returns when no thread is about to send the signal, or after 100 ms. After the return, the
// listener can end, and the kernel can reuse its thread ID.
void cs_news_ignore(void) SIGNAL_SAFE;

// In a forked child: resets the state of this file's functions.
void cs_news_forget(void) SIGNAL_SAFE;

#endif
