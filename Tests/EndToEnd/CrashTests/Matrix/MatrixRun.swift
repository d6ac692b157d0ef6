import CrashMaker

/// The scenario, the build and the kind of thread of one cell.
struct MatrixRun {
  var scenario: Scenario
  var build: MatrixBuild
  var thread: CrashRun.Thread

  /// Returns the runs of all cells, or of the slice's cells, in the order of the table.
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

  private func cell(under daemon: PrivateDaemon) async throws -> MatrixCell {
    let cell = try await MatrixCell.run(scenario, on: thread, in: build, under: daemon)
    for (check, complaint) in cell.complaints { print("\(cell.label): \(check.rawValue): \(complaint)") }
    return cell
  }

  /// Makes the cells of the runs, in the same order, `width` cells at a time.
  static func cells(
    of runs: [MatrixRun], width: Int, under daemon: PrivateDaemon
  ) async throws -> [MatrixCell] {
    try await withThrowingTaskGroup(of: (Int, MatrixCell).self) { group in
      var cells: [MatrixCell?] = Array(repeating: nil, count: runs.count)
      for (index, run) in runs.enumerated() {
        if index >= width, let (ended, cell) = try await group.next() { cells[ended] = cell }
        group.addTask {
          var cell = try await run.cell(under: daemon)
          // The emulator itself fails now and then. The second result counts.
          if MatrixEmulation.isUsed && !cell.isRight {
            cell = try await run.cell(under: daemon)
            cell.isRepeated = true
          }
          return (index, cell)
        }
      }
      for try await (ended, cell) in group { cells[ended] = cell }
      return cells.compactMap(\.self)
    }
  }
}
