import CShimRing
import CrashProtocol
import CrashReport
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("The notice of the last crash, from the store to the next process")
struct LastCrashTests {
  private static func summary(id: String = "aa11", sentence: String, time: String = "2026-11-21T08:13:07Z") throws
    -> ReportSummary
  {
    var report = try CrashReport.sample(id: id)
    report.diagnosis.sentence = sentence
    report.time = time
    return ReportSummary(report, cursor: "")
  }

  /// The decoded fields of a message about the last crash.
  private struct Parts: Equatable {
    var time_ns: UInt64 = 0
    var id = ""
    var sentence = ""
  }

  private static func parts(_ payload: [UInt8]) -> Parts? {
    guard payload.count >= MemoryLayout<cs_control_last_crash>.size else { return nil }
    // Invariant: the payload has at least as many bytes as the structure, in which every bit pattern is valid.
    let fields = unsafe payload.withUnsafeBytes { unsafe $0.loadUnaligned(as: cs_control_last_crash.self) }
    let texts = payload.dropFirst(MemoryLayout<cs_control_last_crash>.size)
    guard texts.count == Int(fields.id_bytes) + Int(fields.sentence_bytes) else { return nil }
    return Parts(
      time_ns: fields.time_ns, id: String(decoding: texts.prefix(Int(fields.id_bytes)), as: UTF8.self),
      sentence: String(decoding: texts.dropFirst(Int(fields.id_bytes)), as: UTF8.self))
  }

  @Test("the notice of the last crash has the report's id, time and sentence, and no empty field")
  func notice() throws {
    let report = try Self.summary(sentence: "Index out of range")
    let some = Parts(time_ns: 1_795_248_787_000_000_000, id: "aa11", sentence: "Index out of range")
    #expect(Self.parts(LastCrashNotice(report).message.payload) == some)
    #expect(Self.parts(LastCrashNotice(nil).message.payload) == Parts())
  }

  @Test("the notice of the last crash replaces control characters, and cuts a long sentence between characters")
  func hostile() throws {
    let evil = LastCrashNotice(try Self.summary(sentence: "a\u{1b}[31m\nb\u{202e}"))
    #expect(evil.sentence == "a␛[31m␊b\u{fffd}")
    let long = LastCrashNotice(try Self.summary(sentence: String(repeating: "é", count: 1_000)))
    #expect(long.sentence == String(repeating: "é", count: 254) + "…" && long.sentence.utf8.count == 511)
    #expect(LastCrashNotice(try Self.summary(sentence: "x", time: "no time")) == LastCrashNotice(nil))
    #expect(LastCrashNotice(try Self.summary(id: String(repeating: "a", count: 65), sentence: "x")).id.isEmpty)
  }

  @Test("a plan is complete without the answer to the last-crash notice, and a new plan does not drop the notice")
  func queue() throws {
    var ends: [Int32] = [-1, -1]
    let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
    try #require(unsafe socketpair(AF_UNIX, type, 0, &ends) == 0)
    let socket = AttachSocket(descriptor: Descriptor(owning: ends[0]))
    let other = AttachSocket(descriptor: Descriptor(owning: ends[1]))
    func kinds() throws -> [UInt8] {
      var kinds: [UInt8] = []
      while true {
        var waiting = pollfd(fd: ends[1], events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&waiting, 1, 0) == 1, let message = try other.receive() else { return kinds }
        kinds.append(message.bytes[12])
      }
    }
    func answer(_ number: UInt32, _ result: UInt32 = 0) throws -> ControlAnswer {
      let answer = cs_control_answer(
        magic: 0x0052_5753_4e41_5343, version: CS_CONTROL_VERSION, number: number, result: result, count: 0)
      return try #require(ControlAnswer(unsafe withUnsafeBytes(of: answer) { unsafe Array($0) }))
    }
    let outcome = ControlOutcome()
    var queue = ControlQueue()
    queue.take(nil, outcome: outcome)
    queue.add(LastCrashNotice(nil))
    queue.send(to: socket)
    #expect(try kinds() == [3, 7])
    #expect(queue.take(try answer(1), outcome: outcome) && outcome.now.isComplete)
    // An older library answers that it does not know the message about the last crash. This answer does not count as a
    // refusal of the plan.
    #expect(queue.take(try answer(2, 2), outcome: outcome) && outcome.now.refused.isEmpty)
    queue.add(LastCrashNotice(nil))
    queue.take(nil, outcome: outcome)
    queue.send(to: socket)
    #expect(try kinds() == [7, 3])
  }

  @Test("a process gets a notice only if its library supports the message about the last crash")
  func asked() async throws {
    try await TestDaemon.run { daemon in
      let other = try await daemon.attach()
      #expect(try await other.attach(TestRing(id: 1).memory()) == .accepted)
      var ring = TestRing(id: 2)
      ring.takeLastCrash()
      let process = try await daemon.attach()
      #expect(try await process.attach(ring.memory()) == .accepted)
      let socket = process.socket
      let message = try await onThread { try socket.receive() }
      #expect(message[12] == 7)
      #expect(Self.parts(Array(message.dropFirst(MemoryLayout<cs_control_header>.size))) == Parts())
      var waiting = pollfd(fd: other.socket.descriptor.number, events: Int16(POLLIN), revents: 0)
      #expect(unsafe poll(&waiting, 1, 0) == 0)
    }
  }
}
