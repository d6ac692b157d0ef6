import CrashMaker

/// The matrix for programs of another architecture, which run under emulation.
enum MatrixEmulation {
  /// The scenarios that cannot run under emulation, each with the reason.
  ///
  /// On the machine of `MatrixMachine`, all of them run.
  static let obstacles = MatrixMachine.command == nil ? ofUserMode : [:]
  /// The scenarios that cannot run under qemu's user mode, each with the reason.
  static let ofUserMode = [
    "seccomp-sys": "qemu's user mode has no seccomp",
    "seccomp-strict-profile": "qemu's user mode has no seccomp",
    "uninterruptible-thread": "vfork is fork in qemu's user mode",
    "pid-namespace": firstProcess, "abort-as-pid-1": firstProcess, "trap-as-pid-1": firstProcess,
    "fatal-error-as-pid-1": firstProcess,
    "kill-from-outside": ownThread, "kill-ill-from-outside": ownThread,
    "main-waits-sigtimedwait-all": hostCall, "main-waits-sigwaitinfo-all": hostCall,
    "main-waits-sigwait-all": hostCall, "main-waits-sigwait-profiling": hostCall,
    "no-proc": "the user namespace of scripts/under-qemu cannot unmount /proc",
    "userns": "the kernel refuses a user namespace to a process with threads, and qemu has a thread of its own",
    "swift-backtrace-enabled": "swift-backtrace cannot suspend qemu's own thread, and prints nothing",
    "sigwait-SEGV": ownThread, "sigwait-ILL": ownThread, "sigwait-FPE": ownThread,
    "signalfd-ILL": ownThread, "signalfd-FPE": ownThread,
    "sigwait-BUS": ownSignal, "signalfd-BUS": ownSignal, "signalfd-SEGV": ownSignal,
  ]
  private static let firstProcess = "qemu cannot end by a signal as the first process of a pid namespace: it hangs"
  private static let ownThread =
    "the kernel may give this signal to a thread of qemu, which has no emulated processor: qemu then loses it or ends"
  private static let hostCall =
    "the shield reads in /proc for which signals a thread waits, and /proc has the emulator's own system call"
  private static let ownSignal = "qemu handles this signal itself, so that a program waits for it forever"

  /// The scenarios whose frames are not compared with those of gdb under emulation, each with the reason.
  ///
  /// gdb reads the core file that qemu writes.
  static let withoutDebugger = [
    "bus-truncated-mmap": "qemu's core file ends at the mapping that cannot be read, before most of the memory",
    "handler-chained-before": ownHandler, "sa-onstack-missing": ownHandler,
    "other-uid": "after a change of the user, the process is not dumpable, so qemu writes no core file",
    "chroot": "qemu writes the core file into the program's own root directory, which ends with the program",
    "crash-in-previous-handler": "the core file has the later crash in the program's own handler",
    "sigabrt-ignored": "the core file has the second signal of abort(), and not the first one",
    "no-descriptors": noCore, "full-disk": noCore, "read-only-root": noCore,
  ]
  private static let ownHandler = "the program's own handler ends the process, so there is no core file"
  private static let noCore = "qemu cannot write a core file in the state of this crash"

  /// Whether the programs of the matrix run under emulation.
  static var isUsed: Bool { MatrixBuild.architecture != .current }

  /// The number of cells that run at a time.
  ///
  /// Under emulation, a cell mostly waits for the end of the thread sweep: the sweep also signals a thread of the
  /// emulator, which never answers.
  static var width: Int { isUsed ? 8 : 1 }

  /// The scenarios that run alone, after all others, under emulation, because their many threads would slow down other
  /// cells.
  static let alone: Set = isUsed ? ["many-threads", "spinning-threads", "simultaneous-64"] : []

  /// The scenarios that exist only on the architecture of the tests, and the comparisons with gdb that emulation
  /// excludes.
  static var absent: [(name: String, reason: String)] {
    let names = Set(Scenario.all(on: MatrixBuild.architecture).map(\.name))
    return Scenario.all.filter { !names.contains($0.name) }
      .map { ($0.name, "\(MatrixBuild.architecture) has no such fault") }
      + (isUsed ? withoutDebugger.sorted { $0.key < $1.key }.map { ("\($0.key), gdb's frames", $0.value) } : [])
  }

  static var introduction: String {
    guard isUsed else { return "" }
    let limit = MatrixBuild.threadLimit
    let part = limit == .max ? "" : "Only the first \(limit) of the kinds of thread of each scenario were run.\n\n"
    return part + """
      This table is for \(MatrixBuild.architecture): `make aarch64-matrix` writes it. The programs run under qemu's user
      mode, and the \(Architecture.current) build of crashd reads their rings. gdb-multiarch reads the core file that qemu
      writes at the end of a program. Several cells are made at a time, and **no hang** means that the process ends at
      most \(MatrixCell.hangLimit.components.seconds) s later. A wrong cell is run once more, and the second result
      counts. No cell was run on hardware; [aarch64.md](aarch64.md) lists what emulation hides.


      """ + MatrixMachine.introduction
  }
}
