import CrashProtocol
import CrashReport
import Glibc
import Testing

@testable import CrashDaemon

/// Tests how much CPU time crashd needs to parse hostile calls.
@Suite("Calls that are designed to be expensive")
struct HostileCallTests {
  struct Shape: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var text: String
  }

  private static func call(_ value: String) -> String { #"{"method":"a.b","parameters":{"a":\#(value)}}"# }
  private static func nested(_ depth: Int, _ value: String) -> String {
    String(repeating: "[", count: depth) + value + String(repeating: "]", count: depth)
  }
  private static func list(_ value: String) -> String {
    Array(repeating: value, count: 15_000 / (value.utf8.count + 1)).joined(separator: ",")
  }

  static let shapes: [Shape] = [
    Shape(testDescription: "objects 500 deep", text: call(nested(500, list("{}")))),
    Shape(testDescription: "numbers 500 deep", text: call(nested(500, list("1")))),
    Shape(testDescription: "objects as deep as they may stand", text: call(nested(6, list("{}")))),
    Shape(testDescription: "numbers", text: call("[\(list("1"))]")),
    Shape(testDescription: "long numbers", text: call("[\(list("1.2345678901234567890e-300"))]")),
    Shape(testDescription: "lists in lists", text: call("[\(list("[[1]]"))]")),
    Shape(
      testDescription: "many keys", text: call("{\((0..<1_600).map { "\"\($0)\":[]" }.joined(separator: ","))}")),
    Shape(testDescription: "one key again and again", text: call("{\(list("\"a\":{}"))}")),
    Shape(
      testDescription: "combining marks",
      text: call("{\"\(String(repeating: "\u{345}\u{301}\u{316}", count: 2_400))\":1}")),
    Shape(
      testDescription: "rows of thirty marks",
      text: call("{\"\(String(repeating: "a" + String(repeating: "\u{345}\u{316}", count: 15), count: 240))\":1}")),
    Shape(
      testDescription: "flags for a method",
      text: #"{"method":"a.\#(String(repeating: "\u{1F1E6}", count: 3_600))"}"#),
    Shape(testDescription: "escapes", text: call("\"\(String(repeating: "\\u00e9", count: 2_500))\"")),
  ]

  /// Returns the CPU time to parse a call: the minimum of several runs, because other work on the machine only adds
  /// time.
  private static func cost_ns(_ text: String) -> UInt64 {
    let bytes = Array(text.utf8)
    return (0..<7).map { _ in CPUAccounts.measure { VarlinkCall(frame: bytes) }.1 }.min() ?? 0
  }

  @Test("F3: the most expensive call costs at most 20 times as much as a plain call of its size", arguments: shapes)
  func cost(_ shape: Shape) {
    let plain = Self.call("\"\(String(repeating: "x", count: shape.text.utf8.count))\"")
    let ratio = Double(Self.cost_ns(shape.text)) / Double(max(1, Self.cost_ns(plain)))
    #expect(ratio <= 20)
  }

  @Test("F3: malformed JSON and too deeply nested calls are refused")
  func refused() {
    let isCall = { (text: String) in VarlinkCall(frame: Array(text.utf8)) != nil }
    #expect(isCall(Self.call(Self.nested(VarlinkCall.depth - 2, "1"))))
    #expect(!isCall(Self.call(Self.nested(VarlinkCall.depth - 1, "1"))))
    for text in [
      "[1,]", #"{"method":"a.b",}"#, #"{"method":"a.b"} x"#, #"{"method":"aé.b"}"#, #"{"method":"a.b","more":1}"#,
      #"{"method":"a.b","parameters":[]}"#, #"{"method":"\ud800.b"}"#, "{'method':'a.b'}", #"{"method":"a.b" "x":1}"#,
    ] {
      #expect(!isCall(text), "\(text)")
    }
    let text =
      #"{"method":"a.b","more":true,"parameters":{"t":"\u00e9\ud83d\ude00\n","n":-2,"d":2.5,"x":null,"w":1e2}}"#
    let call = VarlinkCall(frame: Array(" \(text)\n".utf8))
    #expect(
      call
        == VarlinkCall(
          method: "a.b",
          parameters: [
            "t": .string("\u{e9}\u{1F600}\n"), "n": .int(-2), "d": .double(2.5), "x": .null, "w": .int(100),
          ],
          more: true))
  }

  @Test("F3: a user whose calls cost more than its share of CPU time has to wait, and other users do not")
  func accounts() {
    let users = UserAccounts(ranges: "/nowhere", users: "/nowhere")
    let cpu = CPUAccounts(CPUAccounts.Allowance(burst_ms: 1_000, share_percent: 25), users: users)
    let second: UInt64 = 1_000_000_000
    let (greedy, other): (UInt32, UInt32) = (54_021, 54_022)
    cpu.charge(greedy, second, at: 0)
    #expect(cpu.wait_ns(for: greedy, at: 0) == 0)
    cpu.charge(greedy, second, at: 0)
    #expect(cpu.wait_ns(for: greedy, at: 0) == 4 * second && cpu.wait_ns(for: greedy, at: 3 * second) == second)
    #expect(cpu.wait_ns(for: greedy, at: 4 * second) == 0 && cpu.wait_ns(for: other, at: 0) == 0)
    for uid in [0, geteuid()] {
      cpu.charge(uid, 100 * second, at: 0)
      #expect(cpu.wait_ns(for: uid, at: 0) == 0)
    }
  }
}
