import Synchronization
import TestKit
import Testing

@Suite("crashctl subscribers")
struct SubscriberTests {
  private static let both = #"""
    {"subscribers":[
    {"name":"forward /run/a.sock","uid":990,"cursor":"0123456789abcdef-7","time":"2026-11-21T08:10:11Z","behind":0},
    {"name":"mail","uid":990,"cursor":"0123456789abcdef-3","time":"2026-11-21T08:10:11Z","behind":4},
    {"name":"mail","uid":1000,"cursor":"0123456789abcdef-2","time":"2026-11-21T08:10:11Z","behind":5}]}
    """#.split(separator: "\n").joined()

  /// Runs crashctl with a simulated crashd that has these subscribers.
  ///
  /// Returns crashctl's result, and the calls by which it deleted subscribers.
  private func run(
    _ words: [String], refusal: String? = nil
  ) throws -> (result: CommandLineTests.Result, forgotten: [String]) {
    let calls = Mutex<[String]>([])
    let daemon = try FakeDaemon { connection in
      while let call = connection.call() {
        if call.contains("Crashd.Subscribers") {
          connection.reply(Self.both)
        } else {
          calls.withLock { $0.append(call) }
          connection.reply(refusal == nil ? "{}" : #"{"subscriber":"forward /run/a.sock"}"#, error: refusal)
        }
      }
    }
    defer { daemon.stop() }
    let result = try CommandLineTests.crashctl(
      ["subscribers"] + words + ["--socket", daemon.socketPath], environment: ["TZ": "UTC"])
    return (result, calls.withLock { $0 })
  }

  @Test("subscribers lists the lag of each subscriber")
  func list() throws {
    let result = try run([]).result
    #expect(
      result.output == """
        NAME                 UID BEHIND LAST CAME               CURSOR
        forward /run/a.sock  990      0 2026-11-21 08:10:11 UTC 0123456789abcdef-7
        mail                 990      4 2026-11-21 08:10:11 UTC 0123456789abcdef-3
        mail                1000      5 2026-11-21 08:10:11 UTC 0123456789abcdef-2

        """)
  }

  @Test("forget deletes a subscriber by name, and by user if several subscribers have the name")
  func forget() throws {
    let collector = try run(["forget", "forward /run/a.sock"])
    #expect(collector.result.output == "forgot 'forward /run/a.sock' of user 990\n")
    #expect(collector.forgotten.count == 1 && collector.forgotten[0].contains(#""uid":990"#))
    let several = try run(["forget", "mail"])
    #expect(several.result.status == 2 && several.forgotten.isEmpty)
    #expect(
      several.result.complaint
        == "crashctl: users 990, 1000 each have a subscriber 'mail': select one with --uid\n")
    #expect(try run(["forget", "mail", "--uid", "1000"]).forgotten.first?.contains(#""uid":1000"#) == true)
    let none = try run(["forget", "unknown"])
    #expect(none.result.status == 1 && none.forgotten.isEmpty)
    #expect(none.result.complaint.hasPrefix("crashctl: there is no subscriber 'unknown'"))
  }

  @Test("a configured collector cannot be deleted, and the error states what to do")
  func inUse() throws {
    let result = try run(["forget", "forward /run/a.sock"], refusal: "io.crashshield.Crashd.SubscriberInUse").result
    #expect(result.status == 2)
    #expect(result.complaint.contains("remove the collector from forward and reload crashd first"))
  }
}
