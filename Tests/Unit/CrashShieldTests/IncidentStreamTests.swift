import CShimRing
import CrashShield
import Glibc
import Testing

@testable import CrashShieldGuards

private let rightStatus: Int32 = 42

private func start() {
  guard Shield.start(configuration: .init(socket: "/dev/null/attach", spool: "/dev/null/spool")).isStarted else {
    Glibc.exit(3)
  }
}

/// Causes `times` faults at the call site of each number: the number is the line.
private func meetFaults(_ sites: Range<UInt>, times: Int = 1) {
  for site in sites {
    let site = ShieldSite(fileID: "Shop/Cart.swift", line: site)
    for _ in 0..<times { Shield.recordFault(.index, at: site) { "7 of 3" } }
  }
}

/// An executor that runs each job at once, on the thread that enqueues the job.
private final class InlineExecutor: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // Invariant: the executor receives each job once, and runs it once.
    unsafe job.runSynchronously(on: asUnownedTaskExecutor())
  }
}

@Suite("Shield.incidents")
struct IncidentStreamTests {
  @Test("a guard's fault is an incident of the stream, even if it occurred before the iteration")
  func guarded() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      start()
      meetFaults(12..<13)
      var iterator = Shield.incidents.makeAsyncIterator()
      guard let first = await iterator.next() else { Glibc.exit(1) }
      #expect(first.kind == .guarded(.index) && first.kind.name == "index" && first.mode == .absorb)
      #expect(first.subject == "Shop/Cart.swift: 7 of 3" && first.line == 12 && first.count == 1)
      #expect(!first.use.frames.isEmpty && first.use.thread != nil && first.object == nil && first.age == nil)
      meetFaults(13..<14)
      #expect(await iterator.next()?.line == 13)
      Glibc.exit(rightStatus)
    }
  }

  @Test("a fault that occurred before the start of the shield is in the stream after the start")
  func beforeStart() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      var iterator = Shield.incidents.makeAsyncIterator()
      meetFaults(12..<13, times: 3)
      start()
      #expect(await iterator.next()?.count == 3)
      Glibc.exit(rightStatus)
    }
  }

  @Test("an incident is sent again at its 10th and 100th occurrence, and not in between")
  func powersOfTen() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      start()
      var iterator = Shield.incidents.makeAsyncIterator()
      meetFaults(1..<2)
      #expect(await iterator.next()?.count == 1)
      meetFaults(1..<2, times: 8)
      // When this second incident arrives, the shield has already delivered the batch with nine occurrences of the
      // first one.
      meetFaults(2..<3)
      #expect(await iterator.next()?.line == 2)
      meetFaults(1..<2)
      #expect(await iterator.next()?.count == 10)
      meetFaults(1..<2, times: 90)
      #expect(await iterator.next()?.count == 100)
      Glibc.exit(rightStatus)
    }
  }

  @Test("if a reader stops reading, its oldest incidents are dropped and counted, and other readers are not delayed")
  func slowReader() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      start()
      let sites: Range<UInt> = 1..<101
      let slow = Shield.incidents.makeAsyncIterator()
      var fast = Shield.incidents.makeAsyncIterator()
      // The counts of the 100 incidents reach 1, 10, 100 and 1,000. At each of these counts, the stream gets all 100
      // incidents.
      for times in [1, 9, 90, 900] {
        meetFaults(sites, times: times)
        for _ in sites { _ = await fast.next() }
      }
      // Waits, because the last batch can reach the slow reader later than the fast reader.
      let dropped = 4 * sites.count - IncidentReader.bufferLimit
      while Shield.incidents.droppedCount < dropped { await Task.yield() }
      #expect(Shield.incidents.droppedCount == dropped)
      withExtendedLifetime(slow) {}
      Glibc.exit(rightStatus)
    }
  }

  @Test("a canceled iteration of Shield.incidents ends, and another iteration continues")
  func cancelled() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      start()
      let reading = Task {
        var count = 0
        for await _ in Shield.incidents { count += 1 }
        return count
      }
      reading.cancel()
      #expect(await reading.value == 0)
      meetFaults(5..<6)
      var iterator = Shield.incidents.makeAsyncIterator()
      #expect(await iterator.next()?.line == 5)
      Glibc.exit(rightStatus)
    }
  }

  @Test("a reader that resumes during the delivery may end its iteration and begin another")
  func inlineExecutor() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      start()
      // The task runs on this thread until it waits for an incident. The thread that delivers an incident then
      // continues it.
      let reading = Task(executorPreference: InlineExecutor()) {
        var lines: [Int?] = []
        for _ in 0..<2 {
          for await incident in Shield.incidents {
            lines.append(incident.line)
            break
          }
        }
        return lines
      }
      meetFaults(12..<13)
      #expect(await reading.value == [12, 12])
      Glibc.exit(rightStatus)
    }
  }

  @Test("each source and kind of the ring maps to a kind of the stream, and an unknown source or kind maps to unknown")
  func kinds() {
    func kind(_ source: cs_ring_incident_source, _ kind: UInt32) -> Shield.Incident.Kind {
      var entry = cs_ring_incident()
      entry.source = source.rawValue
      entry.kind = kind
      return Shield.Incident(entry).kind
    }
    let uses: [Shield.Incident.Access] = [.call, .asyncCall, .overRelease, .retains, .write, .handle]
    #expect((1...6).map { kind(.CS_RING_INCIDENT_QUARANTINE, $0) } == uses.map { .useAfterFree($0) })
    let pages: [Shield.Incident.Access] = [
      .read, .write, .doubleFree, .invalidFree, .overflow, .underflow, .trampled,
    ]
    #expect((1...7).map { kind(.CS_RING_INCIDENT_PAGES, $0) } == pages.map { .guardPage($0) })
    for guarded in ShieldKind.allCases {
      #expect(kind(.CS_RING_INCIDENT_GUARD, UInt32(guarded.rawValue)) == .guarded(guarded))
    }
    #expect(kind(.CS_RING_INCIDENT_CONTAINED, 1) == .containedTrap)
    #expect(kind(.CS_RING_INCIDENT_PAGES, 99) == .unknown && kind(.CS_RING_INCIDENT_GUARD, 999) == .unknown)
  }

  @Test("an incident of an object has its stacks, and a trap's registers are not read as stacks")
  func stacks() {
    var entry = cs_ring_incident()
    entry.source = cs_ring_incident_source.CS_RING_INCIDENT_QUARANTINE.rawValue
    entry.kind = cs_ring_dangling.CS_RING_DANGLING_CALL.rawValue
    entry.flags = CS_RING_INCIDENT_RECORD
    (entry.address, entry.age_ns, entry.free_tid, entry.free_count) = (0x7000, 5, 9, 1)
    (entry.use_tid, entry.use_count, entry.use.0) = (8, 1, 0x10)
    // Invariant: the flags select this member of the C union.
    unsafe entry.detail.object.free.0 = 0x20
    let use = Shield.Incident(entry)
    #expect(use.object == 0x7000 && use.age == .nanoseconds(5))
    #expect(use.use == .init(thread: 8, frames: [0x10]) && use.release == .init(thread: 9, frames: [0x20]))
    #expect(use.allocation == .init(thread: nil, frames: []) && use.line == nil && use.amount == nil)
    entry.source = cs_ring_incident_source.CS_RING_INCIDENT_CONTAINED.rawValue
    (entry.flags, entry.free_tid) = (CS_RING_INCIDENT_TRAP, 0)
    let trap = Shield.Incident(entry)
    #expect(trap.kind == .containedTrap && trap.release.frames.isEmpty && trap.object == nil)
  }

  @Test(
    "a use-after-free in the quarantine is an incident of the stream, with the stack of the last release",
    .enabled(if: Shield.danglingUnavailableReason == nil, "the quarantine is unavailable here"))
  func quarantine() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      start()
      try Shield.protect(Session.self, policy: .absorb)
      let reference = unsafe dangling { Session() }
      drop()
      // Invariant: the quarantine keeps the object's memory.
      #expect(unsafe reference._withUnsafeGuaranteedRef { $0.greet() } == 7)
      var iterator = Shield.incidents.makeAsyncIterator()
      guard let incident = await iterator.next() else { Glibc.exit(1) }
      #expect(incident.kind == .useAfterFree(.call) && incident.subject.hasSuffix("Session"))
      #expect(!incident.release.frames.isEmpty && incident.object != nil && incident.mode == .absorb)
      Glibc.exit(rightStatus)
    }
  }
}
