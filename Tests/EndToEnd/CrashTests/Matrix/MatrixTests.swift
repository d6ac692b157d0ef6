import CrashClient
import CrashMaker
import CrashProtocol
import CrashReport
import Glibc
import Testing

/// Runs each scenario of crash-maker on each of its kinds of thread in each build.
///
/// Such a combination is a cell of the matrix. Only `make matrix` enables this suite, because it takes minutes.
///
/// `CRASHSHIELD_MATRIX` names the file to which the test writes the table. `CRASHSHIELD_MATRIX_ONLY` is a list of
/// words. If it is set, only scenarios whose name contains one of these words run. `CRASHSHIELD_MATRIX_THREADS` is the
/// maximum number of kinds of thread for each scenario.
///
/// `CRASHSHIELD_MATRIX_CELLS` names a file to which each cell is added. A run with the same file skips the cells that
/// passed. `CRASHSHIELD_MATRIX_MACHINE` is the command that runs cells on an emulated machine; with it, only the cells
/// that need this machine run.
@Suite(.enabled(if: Environment.value(of: "CRASHSHIELD_MATRIX") != nil))
struct MatrixTests {
  /// The scenarios that this matrix does not run, each with the tests that run it, or with the reason why no test does.
  private static let elsewhere = [
    ("shift", "is not a scenario, because Swift's shifts do not trap"),
    (
      "use-after-free-field, -retain, -release, over-release, double-release",
      "without protection, the result is random; CrashShieldTests runs these uses with protection"
    ),
    ("on a NIO event loop", "DemoServerTests and StackOverflowTests.eventLoop run these crashes"),
    ("swift-backtrace-enabled in a static build", "EarlyStartTests runs this scenario with the installed programs"),
    ("daemon-down-at-start, daemon-down-at-crash", "LossTests runs these scenarios"),
    ("store-corrupt", "ReportStoreTests runs this scenario"),
    (
      "hostile-ring, hostile-hello, descriptor-flood",
      "HostileRingTests, HostileHelloTests and AttachServerTests run these scenarios"
    ),
    ("slow-subscriber", "SubscribeTests runs this scenario"),
    (
      "daemon-killed-while-draining, -restart-under-load, -upgrade, store-full, clock-jump, 10,000-crash-burst,"
        + " crash-loop",
      "these scenarios test crashd as a service: docs/service.md"
    ),
  ]

  @Test("the crash matrix: every scenario on each kind of thread in each build")
  func matrix() async throws {
    let words = Environment.value(of: "CRASHSHIELD_MATRIX_ONLY")?.split(separator: " ") ?? []
    let isWanted = { (name: String) in words.isEmpty || words.contains { name.contains($0) } }
    let scenarios = Scenario.all(on: MatrixBuild.architecture).filter { isWanted($0.name) }
    let builds = try MatrixBuild.all()
    let store = try Environment.value(of: "CRASHSHIELD_MATRIX_CELLS").map(StoredMatrix.init)
    let (cells, remains) =
      if let command = MatrixMachine.command {
        (try await machineCells(scenarios, builds, isWanted, store, by: command), [String]())
      } else {
        try await ownCells(scenarios, builds, isWanted, store)
      }
    let impossible = builds.map { build in
      scenarios.filter { $0.obstacle != nil || !build.canRun($0) }
        .map { min($0.threads.count, MatrixBuild.threadLimit) }.reduce(0, +)
    }
    let table = MatrixTable(
      cells: cells, notRun: Self.notRun(scenarios), notRunCount: impossible.reduce(0, +), remains: remains)
    print(table.text)
    let path = try #require(Environment.value(of: "CRASHSHIELD_MATRIX"))
    try Self.write(Self.introduction + MatrixEmulation.introduction + table.text, to: path)
    #expect(table.failedCount == 0, "\(table.summary)")
  }

  /// Runs the cells that need no emulated machine and are not in the store (the file of `CRASHSHIELD_MATRIX_CELLS`).
  ///
  /// Returns these cells and those of the store, and what crashd still holds at the end.
  private func ownCells(
    _ scenarios: [Scenario], _ builds: [MatrixBuild], _ isWanted: (String) -> Bool, _ store: StoredMatrix?
  ) async throws -> ([MatrixCell], remains: [String]) {
    let known = try store?.right() ?? [:]
    return try await PrivateDaemon.run { daemon in
      try await warmUp(builds, daemon)
      let before = try await blocking { try daemon.client.status() }
      let descriptors = try await daemon.settledDescriptorCount(at: nil)
      let runs = MatrixRun.all(scenarios, in: builds)
      let made = try await MatrixRun.cells(of: runs.filter { known[$0.label] == nil }, under: daemon, adding: store)
      var cells = Self.cells(of: runs, in: known, made)
      for build in builds where !build.isPreloaded {
        try await compare(scenarios.filter { $0.obstacle == nil && $0.isComparable }, build, daemon, &cells, store)
        for binary in MatrixBinary.allCases where isWanted(binary.rawValue) {
          if let cell = known[binary.label(in: build)] {
            cells.append(cell)
          } else {
            cells.append(try await binary.run(in: build, under: daemon))
            try store?.add(cells[cells.count - 1])
          }
        }
      }
      return (cells, try await self.remains(of: daemon, before: before.processes, descriptors))
    }
  }

  /// Runs the cells of the emulated machine that are not in the store.
  ///
  /// Returns these cells and all those of the store.
  private func machineCells(
    _ scenarios: [Scenario], _ builds: [MatrixBuild], _ isWanted: (String) -> Bool, _ store: StoredMatrix?,
    by command: String
  ) async throws -> [MatrixCell] {
    let known = try store?.right() ?? [:]
    let runs = MatrixRun.all(scenarios, in: builds)
    let isOfMachine = { (run: MatrixRun) in MatrixEmulation.ofUserMode[run.scenario.name] != nil }
    if store != nil, let missing = runs.first(where: { !isOfMachine($0) && known[$0.label] == nil }) {
      throw SystemError(
        "the store has no right cell '\(missing.label)': run the matrix without the machine first", ENOENT)
    }
    let made = try await MatrixMachine.cells(of: runs.filter { isOfMachine($0) && known[$0.label] == nil }, by: command)
    for cell in made { try store?.add(cell) }
    let binaries = builds.flatMap { build in
      MatrixBinary.allCases.filter { isWanted($0.rawValue) }.compactMap { known[$0.label(in: build)] }
    }
    return Self.cells(of: runs, in: known, made) + binaries
  }

  /// Returns the cells in the order of the runs.
  private static func cells(
    of runs: [MatrixRun], in known: [String: MatrixCell], _ made: [MatrixCell]
  ) -> [MatrixCell] {
    let all = made.reduce(into: known) { $0[$1.label] = $1 }
    return runs.compactMap { all[$0.label] }
  }

  /// Returns the processes, descriptors and spool files that crashd still holds after all processes have ended.
  private func remains(of daemon: PrivateDaemon, before processes: Int, _ descriptors: Int) async throws -> [String] {
    let settled = try await daemon.settledDescriptorCount(at: descriptors)
    let after = try await blocking { try daemon.client.status() }.processes
    let spooled = try entries(of: daemon.place.runtime + "/spool")
    return (after == processes ? [] : ["crashd has \(after) processes, not \(processes)"])
      + (settled <= descriptors ? [] : ["crashd has \(settled) descriptors, not \(descriptors)"])
      + (spooled.isEmpty ? [] : ["spooled: \(spooled)"])
  }

  private static func notRun(_ scenarios: [Scenario]) -> [(name: String, reason: String)] {
    scenarios.compactMap { scenario in scenario.obstacle.map { (scenario.name, $0) } }
      + MatrixEmulation.absent
      + scenarios.filter(\.needsDebug).map { ($0.name, "runs only in debug builds") }
      + scenarios.filter(\.needsDynamicLibrary).map { ($0.name, "runs only with the dynamic Swift library") }
      + scenarios.filter(\.needsLibrary).map {
        ($0.name, "does not run with the preloaded shield, because the scenario calls the library or reads its status")
      }
      + scenarios.compactMap { scenario in scenario.withoutDebugger.map { ("\(scenario.name), gdb's frames", $0) } }
      + elsewhere.map { (name: $0.0, reason: $0.1) }
  }

  /// Crashes each program once before the matrix runs.
  ///
  /// crashd then has the symbols of the programs in its cache, and no cell waits for symbols.
  private func warmUp(_ builds: [MatrixBuild], _ daemon: PrivateDaemon) async throws {
    for build in builds {
      let crash = try await Crasher.run(
        "raise", build.options, environment: daemon.place.environment.merging(build.environment) { $1 },
        program: build.program)
      _ = try await daemon.reports(of: crash.pid)
    }
  }

  /// Compares the frames of each scenario, on its first kind of thread, with those that gdb finds.
  private func compare(
    _ scenarios: [Scenario], _ build: MatrixBuild, _ daemon: PrivateDaemon, _ cells: inout [MatrixCell],
    _ store: StoredMatrix?
  ) async throws {
    // Skips the cells of the store that already have the result.
    let scenarios = scenarios.filter { scenario in
      cells.contains {
        $0.row == scenario.name && $0.build == build.name && $0.thread == scenario.threads[0] && $0.results[.gdb] == nil
      }
    }
    let runs = scenarios.map { "\($0.name),--wait-attached" }
    let truths = runs.isEmpty ? [] : try await Debugger.unwind(runs, of: build.program, under: daemon)
    for (scenario, truth) in zip(scenarios, truths) {
      let isOfScenario = { (cell: MatrixCell) in
        cell.row == scenario.name && cell.build == build.name && cell.thread == scenario.threads[0]
      }
      guard let index = cells.firstIndex(where: isOfScenario) else { continue }
      let thread = try await daemon.reports(of: truth.pid).first?.crashedThread
      cells[index].results[.gdb] = .some(thread.map(truth.difference) ?? "no report of the run under gdb")
      try store?.add(cells[index])
    }
    #expect(truths.count == scenarios.count)
  }

  static func write(_ text: String, to path: String) throws {
    let file = try FileDescriptor(
      unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644), from: "open '\(path)'")
    let bytes = Array(text.utf8)
    guard unsafe Glibc.write(file.number, bytes, bytes.count) == bytes.count else { throw SystemError("write", errno) }
  }

  private static let introduction = """
    # The matrix

    `make matrix` writes this table. It runs every scenario of CrashMaker on each kind of thread on which the scenario can
    crash (main, Dispatch queue, Swift task, plain thread, thread with a small stack). It does so in each build (debug;
    release; release with a static Swift library), with the shield linked and with the shield preloaded. A cell is one
    such run. Each entry has the number of correct cells and the number of cells that were checked.

    - **captured**: there is exactly one report, with the signal and every crashed thread. If no report is possible, there
      is none.
    - **frames**: the stack of each crashed thread has the topmost in-app function and the line of the fault. The stack of
      a task also has the functions that await the task.
    - **gdb**: the frames are the same as gdb's, pc by pc, on the first kind of thread, with the shield linked.
    - **reason**: the report has the runtime error message, the right cause, the facts that its sentence must name,
      `si_code`, the sender, the number of threads, and the losses.
    - **no hang**: the process ends at most 2 s later than without the shield.
    - **same exit**: the exit status is the same as without the shield.
    - **nothing left**: no process of the run remains. At the end, crashd has no additional process, descriptor or
      spooled file.

    The section "Not run here" lists each scenario or check that was not run, with the reason. `NAME, gdb's frames`
    means that only the check **gdb** was not run for the scenario NAME.


    """
}
