// Crashes of a thread while the main thread waits. The functions are in CCrashMaker.
internal import CCrashMaker

extension Scenario {
  /// The main thread waits in each possible call.
  ///
  /// It would end the process successfully if the call returned.
  public static let waits = (0..<cs_fault_main_waits_count()).map { way in
    // The C file defines the name as a constant.
    let name = unsafe String(cString: cs_fault_main_waits_name(way))
    return Scenario(
      "main-waits-\(name)", "SIGSEGV", "cs_fault_beside_waiting", summary: "crash while the main thread waits: \(name)"
    ) { cs_fault_main_waits(way) }
    .with {
      $0.mark = "main-waits"
      $0.threads = [.main]
      $0.isOfMany = true
      $0.withoutDebugger = "the crash is the same as that of null-write"
    }
  }
}
