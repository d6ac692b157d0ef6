// Crashes that C++ code makes; the functions are in CCrashMaker.
internal import CCrashMaker

extension Scenario {
  static let cxx = [
    c(
      "cxx-terminate", "SIGABRT", "throw a C++ exception that nobody catches", function: "stock_of",
      cs_fault_cxx_terminate
    ).with { $0.reason = "std::runtime_error: the warehouse is closed" },
    c(
      "cxx-throw-derived", "SIGABRT", "throw an exception with two base classes", function: "close_for",
      cs_fault_cxx_throw_derived
    ).with { $0.reason = ": closed on Sundays" },
    c("cxx-throw-int", "SIGABRT", "throw an int that nobody catches", function: "price_of", cs_fault_cxx_throw_int),
    c("noexcept-throw", "SIGABRT", "throw through a noexcept function", function: "order", cs_fault_noexcept_throw),
    c("pure-virtual", "SIGABRT", "call a pure virtual function", function: "fill", cs_fault_pure_virtual),
    c(
      "sent-abort-in-new", "SIGABRT", "get SIGABRT in operator new, while an exception is handled",
      function: "send_abort", cs_fault_sent_abort_in_new
    ).with { $0.threads = [.main] },
    c("static-destructor", "SIGSEGV", "crash in a static destructor", function: "Receipt", cs_fault_static_destructor),
  ]
}
