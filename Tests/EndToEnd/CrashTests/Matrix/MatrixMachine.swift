import CrashClient
import CrashMaker
import CrashProtocol
import CrashReport
import Glibc
import TestKit

/// The cells of the matrix that run on an emulated machine with a kernel of its own, because qemu's user mode, which
/// emulates only a program, cannot run them.
///
/// The first process of the machine keeps the rings of crashes, as crashd does, and sends them to the test. The test
/// puts them into the spool of its own crashd.
enum MatrixMachine {
  /// The command that runs jobs on the machine, or nil if the cells of this run are not for the machine.
  static let command = Environment.value(of: "CRASHSHIELD_MATRIX_MACHINE")

  static var introduction: String {
    if command == nil { return "" }
    return """
      qemu's user mode cannot run some scenarios. These scenarios ran on a whole machine that `qemu-system-aarch64`
      emulates, with Debian's kernel for arm64. The first process of the machine keeps the rings of crashes, as crashd
      does, and the \(Architecture.current) build of crashd reads them from its spool. gdb-multiarch reads the core file
      that the kernel writes. The scenarios are: \(MatrixEmulation.ofUserMode.keys.sorted().joined(separator: ", ")).


      """
  }

  private static let spool = "/run/spool"
  private static let limit_s = 120
  /// The number of time slices in which all jobs must have run.
  private static let slices = 3 * 60 * 60

  /// Runs all cells on the machine, and returns them in the order of `runs`.
  static func cells(of runs: [MatrixRun], by command: String) async throws -> [MatrixCell] {
    if runs.isEmpty { return [] }
    let directory = try TestDirectory()
    let jobs = runs.flatMap { [job(of: $0, isShielded: false), job(of: $0, isShielded: true)] }
    let path = try directory.write(Array((jobs.joined(separator: "\n") + "\n\0").utf8), to: "jobs")
    let status = try await ChildProcess.start(
      command, [path, directory.path + "/results"],
      ChildProcess.Options(environment: inherited, errorPath: directory.path + "/stderr")
    ).wait(slices: slices)
    guard status.code == 0 else {
      throw SystemError("\(command): \(status): \(try contents(of: directory.path + "/stderr"))", EPROTO)
    }
    let results = try MachineResult.all(in: directory.path + "/results")
    guard results.count == jobs.count else {
      throw SystemError("\(command): \(results.count) results of \(jobs.count) jobs", EPROTO)
    }
    return try await PrivateDaemon.run { daemon in
      var cells: [MatrixCell] = []
      for (index, run) in runs.enumerated() {
        let (without, with) = (results[2 * index], results[2 * index + 1])
        let reports = try await reports(of: with.rings, by: daemon)
        var cell = try MatrixCell.judged(run, with, without, reports)
        if isCompared(run) { cell.results[.gdb] = .some(try await frames(of: run, with, differ: reports)) }
        for (check, complaint) in cell.complaints { print("\(cell.label): \(check.rawValue): \(complaint)") }
        cells.append(cell)
      }
      return cells
    }
  }

  /// The environment variables of the test that the command needs.
  private static var inherited: [String: String] {
    let names = ["PATH", "AARCH64_TREE"]
    return Dictionary(uniqueKeysWithValues: names.compactMap { name in Environment.value(of: name).map { (name, $0) } })
  }

  /// Whether gdb reads the core file of the run, to compare its frames with those of the report.
  private static func isCompared(_ run: MatrixRun) -> Bool {
    run.scenario.isComparable && run.thread == run.scenario.threads[0] && !run.build.isPreloaded
  }

  /// Describes how the frames of the report differ from those that gdb finds in the core file.
  private static func frames(
    of run: MatrixRun, _ result: MachineResult, differ reports: [CrashReport]
  ) async throws -> String? {
    guard let core = result.items.first(where: { $0.name == "core" }) else { return "no core file" }
    let directory = try TestDirectory()
    let path = try directory.write(core.contents, to: core.name)
    let truth = try await Debugger.unwind(core: path, of: run.build.program)
    return reports.first?.crashedThread.map(truth.difference) ?? "no report"
  }

  /// Formats a job for the machine.
  private static func job(of run: MatrixRun, isShielded: Bool) -> String {
    var environment = ["CRASHSHIELD_DISABLE": "1"]
    if isShielded {
      environment = [
        "CRASHSHIELD_SOCKET": "/run/attach", "CRASHSHIELD_SPOOL": spool, "CRASHSHIELD_SWEEP_MS": "800",
        "CRASHSHIELD_DEADLINE_MS": "60000",
      ].merging(run.build.environment) { $1 }
    }
    // Swift's own backtracer is on by default where it is installed, as on this machine.
    environment["SWIFT_BACKTRACE"] = "enable=no"
    environment["MACHINE_CORE"] = isCompared(run) ? "1" : nil
    let options = isShielded ? run.build.options : []
    let words = [run.build.program, run.scenario.name] + options + ["--thread", run.thread.rawValue]
    return (["\(limit_s)", "/tmp"] + environment.map { "\($0)=\($1)" }.sorted() + ["--"] + words)
      .joined(separator: "\t")
  }

  /// Puts the files into the spool of the daemon, and returns the reports that the daemon makes of them.
  private static func reports(of rings: [MachineResult.Item], by daemon: PrivateDaemon) async throws -> [CrashReport] {
    var reports: [CrashReport] = []
    let directory = try TestDirectory()
    for ring in rings {
      let file = try directory.write(ring.contents, to: ring.name)
      let id = String(ring.name.dropLast(MachineResult.ringSuffix.count))
      let client = daemon.client
      let spooled = "\(daemon.place.runtime)/spool/\(ring.name)"
      reports.append(
        try await blocking {
          // Subscribes before crashd sees the file, so that no report is missed.
          let events = try client.subscribe().begun()
          guard unsafe rename(file, spooled) == 0 else { throw SystemError("rename '\(file)'", errno) }
          while let event = try events.next(timeout: .seconds(Patience.slices)) {
            if case .report(let received, _) = event, received.report.id == id { return received.report }
          }
          throw SystemError("crashd ended the stream before the report of '\(ring.name)'", EPROTO)
        })
    }
    return reports
  }
}

extension MatrixCell {
  /// Judges a cell that ran on the machine.
  fileprivate static func judged(
    _ run: MatrixRun, _ with: MachineResult, _ without: MachineResult, _ reports: [CrashReport]
  ) throws -> MatrixCell {
    var cell = MatrixCell(row: run.scenario.name, build: run.build.name, thread: run.thread)
    let outcome = Crasher.Outcome(
      pid: 0, child: nil, status: with.status, duration: with.duration, error: with.error)
    let excess = with.duration - without.duration
    cell.results[.noHang] = .some(excess > hangLimit ? "took \(excess) longer" : nil)
    cell.results[.sameExit] = .some(
      with.status == without.status
        ? try run.scenario.complaint(about: outcome)
        : "\(with.status), without the shield \(without.status): \(with.error)")
    cell.results[.nothingLeft] = .some(with.leftCount == 0 ? nil : "left: \(with.leftCount)")
    cell.judge(try Findings(reports, of: run.scenario, isOptimized: run.build.isOptimized), run.scenario)
    return cell
  }
}
