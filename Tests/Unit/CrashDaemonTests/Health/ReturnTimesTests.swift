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

  @Test("buckets grow with the time, and the middle of a bucket is in it")
  func buckets() {
    let times: [UInt64] = [0, 1, 10, 999, 60_000, 3_600_000, .max]
    let buckets = times.map(ReturnBucket.of)
    #expect(buckets == buckets.sorted() && Set(buckets).count == buckets.count)
    for bucket in 20..<100 { #expect(ReturnBucket.of(UInt64(ReturnBucket.time_ms(bucket))) == bucket) }
    #expect(ReturnBucket.median_ms([:]) == nil)
  }
}
