import CrashShield
import CrashShieldGuards
import Glibc
import Metrics
import MetricsTestKit
import Synchronization
import Testing

@testable import CrashShieldMetrics

@Suite("The shield's counts in swift-metrics")
struct ShieldMetricsTests {
  private static let index = ShieldReading.Key(label: "guard_incidents", dimensions: ["kind": "index"])
  private static let bytes = ShieldReading.Key(label: "quarantine_bytes")

  @Test("a metrics update reports the increase of each counter since the previous update")
  func difference() throws {
    let backend = TestMetrics()
    let reading = Mutex(ShieldReading(counts: [Self.index: 3]))
    let metrics = ShieldMetrics(prefix: "crash_shield_", factory: backend) { reading.withLock { $0 } }
    metrics.update()
    metrics.update()
    reading.withLock { $0.counts[Self.index] = 5 }
    metrics.update()
    let counter = try backend.expectCounter("crash_shield_guard_incidents", [("kind", "index")])
    #expect(counter.values == [3, 2])
  }

  @Test("the value of a gauge is reported at each metrics update")
  func level() throws {
    let backend = TestMetrics()
    let reading = Mutex(ShieldReading(levels: [Self.bytes: 4096]))
    let metrics = ShieldMetrics(prefix: "crash_shield_", factory: backend) { reading.withLock { $0 } }
    metrics.update()
    reading.withLock { $0.levels[Self.bytes] = 0 }
    metrics.update()
    #expect(try backend.expectGauge("crash_shield_quarantine_bytes").values == [4096, 0])
  }

  @Test("if four threads update the metrics at once, each incident is counted once")
  func threads() async throws {
    let backend = TestMetrics()
    let reading = Mutex(ShieldReading(counts: [Self.index: 0]))
    let metrics = ShieldMetrics(prefix: "", factory: backend) {
      reading.withLock { reading in
        reading.counts[Self.index, default: 0] += 1
        return reading
      }
    }
    await withTaskGroup { group in
      for _ in 0..<4 {
        group.addTask { for _ in 0..<1_000 { metrics.update() } }
      }
    }
    #expect(backend.counterTotal(label: "guard_incidents", dimensions: [("kind", "index")]) == 4_000)
  }

  @Test("a trap of the metrics backend in isolated work ends the process, because the counts would stay locked")
  func trap() async {
    #if arch(arm64)
      let trap = SIGTRAP
    #else
      let trap = SIGILL
    #endif
    await #expect(processExitsWith: .signal(trap)) {
      do {
        try Shield.startOrThrow(.init(socket: "/dev/null/attach", spool: "/dev/null/spool"))
        try updateInIsolatedWork(ShieldMetrics(prefix: "", factory: TestMetrics()) { fatalError("a backend") })
      } catch {}
      exit(1)
    }
  }

  @Test(
    "a canceled metrics run makes a last update and ends, even if the interval exceeds the range of the clock",
    arguments: [Duration.seconds(3_600), .seconds(Int64.max), Duration(_high: .max, low: .max)])
  func cancelled(interval: Duration) async throws {
    let backend = TestMetrics()
    let (updates, said) = AsyncStream.makeStream(of: Void.self)
    let reading = Mutex(ShieldReading(counts: [Self.index: 0]))
    let metrics = ShieldMetrics(prefix: "", factory: backend) {
      defer { said.yield() }
      return reading.withLock { reading in
        reading.counts[Self.index, default: 0] += 1
        return reading
      }
    }
    let run = Task { await metrics.run(every: interval) }
    for await _ in updates { break }
    run.cancel()
    await run.value
    #expect(backend.counterTotal(label: "guard_incidents", dimensions: [("kind", "index")]) == 2)
  }

  @Test("the metrics in swift-metrics equal the counts of the process")
  func ofTheProcess() async {
    await #expect(processExitsWith: .success) {
      let backend = TestMetrics()
      let metrics = ShieldMetrics(factory: backend)
      for _ in 0..<3 { _ = [1, 2][shielded: 7] }
      metrics.update()
      guard backend.counterTotal(label: "crash_shield_guard_incidents", dimensions: [("kind", "index")]) == 3
      else { exit(1) }
      guard try backend.expectGauge("crash_shield_started").lastValue == 0 else { exit(2) }
      guard try backend.expectGauge("crash_shield_quarantine_bytes").lastValue == 0 else { exit(3) }
    }
  }
}

/// This function is not async, so that Swift selects the synchronous overload of `Shield.isolated`.
private func updateInIsolatedWork(_ metrics: ShieldMetrics) throws { try Shield.isolated { metrics.update() } }
