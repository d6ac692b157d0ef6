import CrashMaker

/// The matrix of programs that run under emulation, because they are for another architecture than the tests.
enum MatrixEmulation {
  /// The scenarios that cannot run under qemu's user mode, each with the reason.
  static let obstacles = [
    "seccomp-sys": "qemu's user mode has no seccomp",
    "seccomp-strict-profile": "qemu's user mode has no seccomp",
    "uninterruptible-thread": "vfork is fork in qemu's user mode",
    "pid-namespace": firstProcess, "abort-as-pid-1": firstProcess, "trap-as-pid-1": firstProcess,
    "fatal-error-as-pid-1": firstProcess,
    "sigwait-BUS": ownSignal, "signalfd-BUS": ownSignal, "signalfd-SEGV": ownSignal,
  ]
  private static let firstProcess = "qemu cannot end by a signal as the first process of a pid namespace: it hangs"
  private static let ownSignal = "qemu handles this signal itself, so that a program waits for it forever"

  /// The scenarios whose frames are not compared with gdb's under emulation, each with the reason.
  static let withoutDebugger = [
    "many-threads": "gdb asks qemu's stub about each of the 1,000 threads, which takes minutes",
    "spinning-threads": "gdb asks qemu's stub about each of the 100 threads at each stop, which takes minutes",
    "other-uid": "gdb waits forever for qemu's stub after the program has changed its uid",
  ]

  /// Whether the programs of the matrix run under emulation.
  static var isUsed: Bool { MatrixBuild.architecture != .current }

  /// The emulator, which `scripts/under-qemu` names, or nil if the programs run on the processor.
  static var emulator: String? { isUsed ? Environment.value(of: "CRASHSHIELD_EMULATOR") : nil }

  /// The scenarios of this architecture that the other one lacks.
  static var absent: [(name: String, reason: String)] {
    let names = Set(Scenario.all(on: MatrixBuild.architecture).map(\.name))
    return Scenario.all.filter { !names.contains($0.name) }
      .map { ($0.name, "\(MatrixBuild.architecture) has no such fault") }
      + (isUsed ? withoutDebugger.sorted { $0.key < $1.key }.map { ("\($0.key), gdb's frames", $0.value) } : [])
  }

  static var introduction: String {
    guard isUsed else { return "" }
    return """
      This table is for \(MatrixBuild.architecture): `make aarch64-matrix` writes it. The programs run under qemu's user
      mode, and the \(Architecture.current) build of crashd reads their rings. gdb is gdb-multiarch, over qemu's stub. No
      cell was run on hardware; [aarch64.md](aarch64.md) lists what emulation hides.


      """
  }
}
