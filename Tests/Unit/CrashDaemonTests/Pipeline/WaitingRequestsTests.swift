import Testing

@testable import CrashDaemon
@testable import CrashRing

@Suite("Requests of crashes that wait for symbols")
struct WaitingRequestsTests {
  @Test("of the memory for requests of waiting crashes, each user has a share, and root has a reserve")
  func shares() {
    var limits = Limits.patient
    (limits.waitingRequestBytes, limits.waitingRequestBytesPerUser) = (1_600, 1_000)
    let waiting = WaitingRequests()
    #expect(waiting.reserve(900, for: 54_321, limits) && !waiting.reserve(101, for: 54_321, limits))
    #expect(waiting.reserve(100, for: 54_321, limits) && !waiting.reserve(600, for: 54_322, limits))
    #expect(waiting.reserve(600, for: 0, limits) && !waiting.reserve(1, for: 0, limits))
    waiting.release(900, for: 54_321, limits)
    #expect(waiting.reserve(800, for: 54_322, limits) && !waiting.reserve(1, for: 54_321, limits))
  }

  @Test("many short tags take more memory than their bytes, and an empty list takes none")
  func size() {
    var requests = RingContents.Requests()
    #expect(requests.memoryBytes == 0)
    var request = RingContents.Request(number: 1, startTime_ns: 1, operation: String(repeating: "x", count: 96))
    requests.running = [request]
    let plain = requests.memoryBytes
    #expect(plain > MemoryLayout<RingContents.Request>.stride + 96)
    for tag in 0..<85 { request.tags[String(UnicodeScalar(UInt8(33 + tag)))] = "" }
    requests.running = [RingContents.Request](repeating: request, count: 4_096)
    let bytes = requests.memoryBytes
    #expect(bytes > 4_096 * (plain + 85 * 32))
    (requests.trapped, requests.running) = (requests.running, [])
    #expect(requests.memoryBytes == bytes)
  }
}
