// Errors for which the C++ runtime ends a program.
#include "cs_cxx_faults.h"

#include <csignal>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <unistd.h>

#define FAULT __attribute__((noinline))

namespace {

// Returns a number whose value the optimizer cannot compute.
FAULT int opaque(int number) {
  __asm__ volatile("" : "+r"(number));
  return number;
}

FAULT int stock_of(int item) {
  if (item > 0) throw std::runtime_error("the warehouse is closed"); // fault: cxx-terminate
  return item;
}

FAULT int price_of(int item) {
  if (item > 0) throw 42; // fault: cxx-throw-int
  return item;
}

struct Day {
  virtual ~Day() = default;
  int number = 7;
};

struct Closed : Day, std::runtime_error {
  using std::runtime_error::runtime_error;
};

FAULT int close_for(int item) {
  if (item > 0) throw Closed("closed on Sundays"); // fault: cxx-throw-derived
  return item;
}

FAULT int order(int item) noexcept {
  return stock_of(item) + opaque(1); // fault: noexcept-throw
}

// The constructor of this base class calls a pure virtual function: this is the bug of the scenario.
class Shelf {
public:
  Shelf() { fill(); }
  virtual ~Shelf() = default;
  virtual int count() = 0;

private:
  FAULT void fill() {
    opaque(count()); // fault: pure-virtual
    opaque(1);
  }
};

class FullShelf : public Shelf {
public:
  int count() override { return opaque(7); }
};

struct Receipt {
  bool is_armed = false;
  FAULT ~Receipt() {
    if (!is_armed) return;
    volatile int *number = reinterpret_cast<volatile int *>(static_cast<long>(opaque(0)));
    *number = 42; // fault: static-destructor
  }
};

Receipt receipt;

// Sends SIGABRT, like a watchdog. `operator new` calls this function.
FAULT void send_abort() {
  // Unblock SIGABRT, which the parent process can have blocked.
  sigset_t abort_only;
  sigemptyset(&abort_only);
  sigaddset(&abort_only, SIGABRT);
  pthread_sigmask(SIG_UNBLOCK, &abort_only, nullptr);
  kill(getpid(), SIGABRT); // fault: sent-abort-in-new
  std::set_new_handler(nullptr);
}

} // namespace

FAULT void cs_fault_cxx_terminate(void) {
  opaque(stock_of(opaque(1)));
}

FAULT void cs_fault_cxx_throw_derived(void) {
  opaque(close_for(opaque(1)));
}

FAULT void cs_fault_cxx_throw_int(void) {
  opaque(price_of(opaque(1)));
}

FAULT void cs_fault_noexcept_throw(void) {
  opaque(order(opaque(1)));
}

FAULT void cs_fault_pure_virtual(void) {
  FullShelf shelf;
  opaque(shelf.count());
}

FAULT void cs_fault_static_destructor(void) {
  receipt.is_armed = true;
  std::exit(0);
}

// Crashes by a signal from outside while an exception is being handled and libstdc++ is on the stack. The report must
// not name the exception as the cause.
FAULT void cs_fault_sent_abort_in_new(void) {
  try {
    opaque(stock_of(opaque(1)));
  } catch (const std::exception &) {
    std::set_new_handler(send_abort);
    void *memory = ::operator new(static_cast<size_t>(opaque(1)) << 62, std::nothrow);
    opaque(memory != nullptr);
  }
}
