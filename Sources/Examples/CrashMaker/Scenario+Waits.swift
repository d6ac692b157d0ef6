// Crashes of a thread while the main thread waits. The functions are in CCrashMaker.
internal import CCrashMaker

extension Scenario {
  /// One scenario for each call in which the main thread can wait.
  ///
  /// If the call returned, the main thread would end the process with success.
  public static let waits = (0..<cs_fault_main_waits_count()).map { way in
    // Invariant: the C string is a constant.
    let name = unsafe String(cString: cs_fault_main_waits_name(way))
    return Scenario(
      "main-waits-\(name)", "SIGSEGV", "cs_fault_beside_waiting", summary: "crash while the main thread waits: \(name)"
    ) { cs_fault_main_waits(way) }
    .with {
      $0.mark = "main-waits"
      $0.threads = [.main]
      $0.isOfMany = true
      $0.withoutDebugger = "the thread faults as in null-write, whose frames are compared with gdb's"
    }
  }
}
