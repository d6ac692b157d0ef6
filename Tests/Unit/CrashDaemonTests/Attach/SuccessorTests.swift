import CrashRing
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

/// Tests a process that executes another program and ends before crashd has read the hello of either program.
@Suite("The exit of a process that has executed another program")
struct SuccessorTests {
  /// Whether the parent reaps the process before crashd reads how the process ended.
  ///
  /// Only a pidfd identifies a process that was reaped, and this requires Linux 6.16.
  static var isReaped: [Bool] { get throws { try ProcessEndTests.isKernel(6, 16) ? [false, true] : [false] } }

  @Test("an exit belongs to the last program if all hellos wait in the queue", arguments: [2, 3], try Self.isReaped)
  func queued(programs: Int, isReaped: Bool) async throws {
    let place = try Place()
    let process = try Successor(path: place.path, programs: programs)
    for index in 0..<programs { try process.become(index, TestRing(id: UInt8(index))) }
    try process.die(isReaped: isReaped)
    #expect(try await place.ends { [.stop] } == Self.ends(programs))
  }

  @Test(
    "an exit belongs to the last program even if the first connection ends before later hellos arrive",
    arguments: [2, 3], try Self.isReaped)
  func attached(programs: Int, isReaped: Bool) async throws {
    let place = try Place()
    let process = try Successor(path: place.path, programs: programs)
    try process.become(0, TestRing(id: 0))
    var turns = 0
    let ends = try await place.ends {
      turns += 1
      if turns > 1 { return [.stop] }
      // crashd has attached the first program. The later programs now send their hellos, and then the process ends.
      do {
        for index in 1..<programs { try process.become(index, TestRing(id: UInt8(index))) }
        try process.die(isReaped: isReaped)
      } catch {
        Issue.record(error)
        return [.stop]
      }
      return []
    }
    #expect(ends == Self.ends(programs))
  }

  @Test("an exit belongs to the only program that sent a hello", arguments: try Self.isReaped)
  func alone(isReaped: Bool) async throws {
    let place = try Place()
    let process = try Successor(path: place.path, programs: 1)
    try process.become(0, TestRing(id: 0))
    var turns = 0
    let ends = try await place.ends {
      turns += 1
      if turns > 1 { return [.stop] }
      #expect(throws: Never.self) { try process.die(isReaped: isReaped) }
      return []
    }
    #expect(ends == Self.ends(1))
  }

  /// Returns how each program must have ended, by the id of its ring.
  ///
  /// Each program except the last one ends because it executes the next program.
  private static func ends(_ programs: Int) -> [String: ProcessEnd] {
    var ends: [String: ProcessEnd] = [:]
    for index in 0..<programs {
      ends[TestRing(id: UInt8(index)).id] = index == programs - 1 ? .status(SIGKILL) : .goesOn
    }
    return ends
  }
}

/// An attach loop with its listening socket, and the events that it sends to the pipeline.
private struct Place {
  let path: String
  private let directory: TestDirectory
  private let configuration: AttachLoop.Configuration
  private let stream: AsyncStream<PipelineEvent>
  private let events: AsyncStream<PipelineEvent>.Continuation

  init() throws {
    directory = try TestDirectory()
    path = "\(directory.path)/attach"
    (stream, events) = AsyncStream.makeStream(of: PipelineEvent.self)
    configuration = try AttachLoop.Configuration(
      listener: UnixSocket.listen(path: path, kind: .packets), spool: SpoolWatch(directory: directory.path),
      limits: .patient, ledger: Ledger(logger: TestLog.logger, limits: .patient), events: events)
  }

  /// Runs the attach loop until `commands` stops it.
  /// - Returns: How each program ended, by the id of its ring.
  func ends(_ commands: () -> [AttachServer.Command]) async throws -> [String: ProcessEnd] {
    var loop = try AttachLoop(configuration, poller: Poller())
    try loop.run(commands: commands)
    events.finish()
    var ends: [String: ProcessEnd] = [:]
    for await case .ended(let ended) in stream { ends[ended.process.facts.identity.ringID] = ended.end }
    return ends
  }
}
