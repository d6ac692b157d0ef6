import CrashMaker

/// The scenario, the build and the kind of thread of one cell of the matrix.
struct MatrixRun {
  var scenario: Scenario
  var build: MatrixBuild
  var thread: CrashRun.Thread

  /// Returns the runs of the whole matrix, or of its slice if only the slice runs, in the order of the table.
  static func all(_ scenarios: [Scenario], in builds: [MatrixBuild]) -> [MatrixRun] {
    let runs = scenarios.filter { $0.obstacle == nil }.flatMap { scenario in
      builds.filter { $0.canRun(scenario) }.flatMap { build in
        scenario.threads.prefix(MatrixBuild.threadLimit).map { MatrixRun(scenario: scenario, build: build, thread: $0) }
      }
    }
    return MatrixBuild.isSlice ? slice(of: runs) : runs
  }

  /// Returns the first run of each signal on each kind of thread in each build.
  private static func slice(of runs: [MatrixRun]) -> [MatrixRun] {
    var seen: Set<[String]> = []
    return runs.filter {
      seen.insert([$0.build.name, $0.scenario.signal, $0.scenario.reportedSignal, $0.thread.rawValue]).inserted
    }
  }

  var label: String { MatrixCell(row: scenario.name, build: build.name, thread: thread).label }

  /// Runs all cells, and returns them in the order of `runs`.
  ///
  /// Scenarios that must run alone run last. Adds each cell to `store` when it has run.
  static func cells(
    of runs: [MatrixRun], under daemon: PrivateDaemon, adding store: StoredMatrix?
  ) async throws -> [MatrixCell] {
    let isAlone = { (index: Int) in MatrixEmulation.alone.contains(runs[index].scenario.name) }
    let (alone, others) = (runs.indices.filter(isAlone), runs.indices.filter { !isAlone($0) })
    var cells: [Int: MatrixCell] = [:]
    for (indices, width) in [(others, MatrixEmulation.width), (alone, 1)] {
      try await withThrowingTaskGroup(of: (Int, MatrixCell).self) { group in
        for (position, index) in indices.enumerated() {
          if position >= width, let (ended, cell) = try await group.next() { cells[ended] = cell }
          group.addTask {
            let cell = try await runs[index].settledCell(under: daemon)
            try store?.add(cell)
            return (index, cell)
          }
        }
        for try await (ended, cell) in group { cells[ended] = cell }
      }
    }
    return runs.indices.compactMap { cells[$0] }
  }

  /// Runs the cell.
  ///
  /// Under emulation, runs a failed cell again, because the emulator itself fails now and then.
  private func settledCell(under daemon: PrivateDaemon) async throws -> MatrixCell {
    let first = try await cell(under: daemon)
    if first.isRight || !MatrixEmulation.isUsed { return first }
    var second = try await cell(under: daemon)
    second.isRepeated = true
    return second
  }

  private func cell(under daemon: PrivateDaemon) async throws -> MatrixCell {
    let cell = try await MatrixCell.run(scenario, on: thread, in: build, under: daemon)
    for (check, complaint) in cell.complaints { print("\(cell.label): \(check.rawValue): \(complaint)") }
    return cell
  }
}
