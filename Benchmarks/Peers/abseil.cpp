// A preloaded library that installs abseil's handler before main, as a program that links abseil would do.
#include <absl/debugging/failure_signal_handler.h>
#include <absl/debugging/symbolize.h>

__attribute__((constructor)) static void install() {
  absl::InitializeSymbolizer("/proc/self/exe");
  absl::InstallFailureSignalHandler(absl::FailureSignalHandlerOptions());
}
