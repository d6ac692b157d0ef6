import CrashRing
import CrashStore
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Times until a program is back")
struct ReturnTimesTests {
  private let key = HealthKey(uid: 1, isRestricted: false, program: "shop", build: "a")

  private func service(_ unit: String) throws -> ReturnTimes.Service {
    var facts = ProcessFacts(RingContents.sample([]), peer: Peer(pid: 1, uid: 1), unit: nil)
    facts.unit = unit
    return ReturnTimes.Service(facts)
  }

  @Test("a crash that is known only after the next attach still matches it, and an earlier attach does not")
  func order() throws {
    var times = ReturnTimes()
    let shop = try service("shop.service")
    #expect(times.arrive(shop, at: 10) == nil)
    #expect(times.arrive(shop, at: 3_000_000) == nil)
    #expect(times.crash(shop, key, at: 1_000_000)?.time_ms == 2)
    // Each attach ends the wait of one crash.
    #expect(times.crash(shop, key, at: 1_000_000) == nil)
    #expect(times.arrive(try service("other.service"), at: 5_000_000) == nil)
    #expect(times.arrive(shop, at: 5_000_000)?.time_ms == 4)
  }

  @Test("a service beyond the limit evicts the service that did not change for the longest time")
  func limit() throws {
    var times = ReturnTimes()
    let services = try (0...ReturnTimes.serviceLimit).map { try service("\($0).service") }
    for service in services.dropLast() { #expect(times.crash(service, key, at: 0) == nil) }
    // The first service changes once more, so the second one did not change for the longest time.
    #expect(times.crash(services[0], key, at: 0) == nil)
    #expect(times.crash(services[ReturnTimes.serviceLimit], key, at: 0) == nil)
    #expect(times.arrive(services[1], at: 9_000_000) == nil)
    for index in [0, 3, ReturnTimes.serviceLimit] {
      #expect(times.arrive(services[index], at: 9_000_000) != nil, "\(index)")
    }
  }

  @Test("the buckets for longer times are wider, and the middle of each bucket is in it")
  func buckets() {
    let times: [UInt64] = [0, 1, 10, 999, 60_000, 3_600_000, .max]
    let buckets = times.map(ReturnBucket.of)
    #expect(buckets == buckets.sorted() && Set(buckets).count == buckets.count)
    for bucket in 20..<100 { #expect(ReturnBucket.of(UInt64(ReturnBucket.time_ms(bucket))) == bucket) }
    #expect(ReturnBucket.median_ms([:]) == nil)
  }
}
