import FoundationEssentials
import Glibc
import TestKit
import Testing

/// Runs each kind of trap with and without containment, and compares the results with docs/containment-table.md.
///
/// `make containment-table` writes the table.
@Suite("Containment of requests")
struct ContainmentTests {
  private static let requests = 24
  private static let traps = 1
  private static let document = "docs/containment-table.md"

  @Test("docs/containment-table.md equals the table that this test formats from its list of traps")
  func table() throws {
    let lines = ContainmentRow.table(requests: Self.requests)
    let path = try #require(#filePath.split(separator: "/Tests/").first) + "/" + Self.document
    if Environment.value(of: "CONTAINMENT_TABLE_WRITE") != nil {
      try Data(lines.utf8).write(to: URL(filePath: path))
    } else {
      #expect(try contents(of: path) == lines, "`make containment-table` rewrites the table")
    }
    #expect(ContainmentRow.all.count { $0.verdict != .contain } >= 25)
    #expect(Set(ContainmentRow.all.map(\.way)).count == ContainmentRow.all.count)
  }

  @Test(
    "a trap ends what docs/containment-table.md says; a process that ends has the same status as without containment",
    arguments: ContainmentRow.runnable)
  func row(_ row: ContainmentRow) async throws {
    let without = try await HostRun.start(row.way, "off", environment: row.environment)
    // The shield does not detect waits for some kinds of objects, such as semaphores. In rows with such waits, the
    // option `--stall` ends the drain after a second without progress. The other rows do not need it, and with it a
    // busy machine could end their drain.
    let canStall = row.hasDependents || !row.isRequestKnown
    let with = try await HostRun.start(
      row.way, "contain", canStall ? ["--stall", "1000"] : [], environment: row.environment)
    #expect(without.end.hasPrefix("signal"), "\(without)")
    #expect(with.obstacle == 0, "\(with)")
    switch row.verdict {
    case .contain: expectContained(with, row)
    case .drain: expectDrained(with, row, without: without)
    case .die:
      #expect(with.verdict == "die" && with.reason == row.reason, "\(with)")
      // The process does not wait for the other requests, but on a busy machine they can finish before it ends. So this
      // does not check them.
      #expect(with.drainEnd == "none" && with.drains == 0 && with.badTrapped == 0, "\(with)")
      expectReported(with, without: without)
    }
  }

  /// Expects that the trap ended only its request, and that all other requests finished.
  private func expectContained(_ run: HostRun, _ row: ContainmentRow) {
    #expect(run.end == "exit 0" && run.badTrapped == Self.traps, "\(run)")
    #expect(run.finishedIndependent == Self.requests && run.drains == 0, "\(run)")
    #expect(run.contained == Self.traps && run.incidents == Self.traps && run.crashes == 0, "\(run)")
    // After the traps, the pool still has all its threads.
    #expect(run.capacity > 0 && run.serial == 0, "\(run)")
  }

  /// Expects that the process ended as without containment, but only after the other requests had finished.
  private func expectDrained(_ run: HostRun, _ row: ContainmentRow, without: HostRun) {
    let dependents = row.hasDependents ? Self.requests / 2 : 0
    #expect(run.verdict == "drain" && run.reason == row.reason, "\(run)")
    #expect(run.finishedIndependent == Self.requests - dependents && run.endedIndependent == 0, "\(run)")
    // A request that waits for a lock of the trapped thread ends with the drain, or gets the same error as the trapped
    // request.
    #expect(run.finishedDependent == 0 && run.endedDependent + run.trappedDependent == dependents, "\(run)")
    #expect(run.drains == 1, "\(run)")
    // If the shield does not know the request that trapped, the request gets no error at the trap. It ends with the
    // drain, unless it has returned before the trap.
    let hasReturned = row.way == "outlives"
    #expect(run.badTrapped == (row.isRequestKnown ? Self.traps : 0), "\(run)")
    #expect(run.badEnded == (row.isRequestKnown || hasReturned ? 0 : Self.traps), "\(run)")
    // On a busy machine, a request can finish before the drain begins, which then does not count it.
    #expect((run.drainFinished ?? .max) <= Self.requests - dependents, "\(run)")
    if dependents == 0 && row.isRequestKnown { #expect(run.drainEnd == "done", "\(run)") }
    expectReported(run, without: without)
  }

  /// Expects the exit status and the crash record of a run without containment.
  private func expectReported(_ run: HostRun, without: HostRun) {
    #expect(run.end == without.end && run.crashes == 1, "\(run) instead of \(without)")
    #expect(run.request == without.request && (run.frames ?? 0) > 0, "\(run) instead of \(without)")
    // Compares only whether both runs have a message: the shield stores the message of a trapped request without its
    // newline.
    #expect((run.message == 0) == (without.message == 0), "\(run) instead of \(without)")
  }
}
