import CShimRing
import CrashShield
import Glibc
import Testing

/// Tests crashd's messages about the last crash, over a real socket.
///
/// The test process acts as crashd at the other end of the socket.
@Suite("Shield.lastCrash")
struct LastCrashTests {
  private static let crash = ControlMessage.lastCrash(
    time_ns: 1_795_248_611_000_000_000, id: "3f2a9c54", sentence: Array("Index out of range".utf8))

  @Test("the last crash is nil until crashd sends it, and is then available at once")
  func told() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let daemon = ControllingDaemon()
      let attached = Attached()
      daemon.attach(attached, [.sweep(round: 1)])
      attached.wait()
      check(daemon.answers(1) == [.done(0)])
      check(Shield.lastCrash == nil)
      async let awaited = Shield.lastCrash(within: .seconds(600))
      daemon.send(LastCrashTests.crash)
      check(daemon.answers(1) == [.done(0)])
      let crash = Shield.lastCrash
      check(crash?.id == "3f2a9c54" && crash?.sentence == "Index out of range")
      check(crash?.time == .seconds(1_795_248_611) && crash?.description == "crash 3f2a9c54: Index out of range")
      check(await awaited == crash)
      check(await Shield.lastCrash(within: .seconds(600)) == crash)
      Glibc.exit(right)
    }
  }

  @Test("if crashd answers that the program has not crashed before, the program stops waiting")
  func none() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let daemon = ControllingDaemon()
      let attached = Attached()
      daemon.attach(attached, [.lastCrash(time_ns: 0, id: "", sentence: []), .sweep(round: 1)])
      attached.wait()
      check(daemon.answers(2) == [.done(0), .done(0)])
      check(await Shield.lastCrash(within: .seconds(600)) == nil)
      Glibc.exit(right)
    }
  }

  @Test("a program that forbids remote control still receives its last crash")
  func forbidden() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let daemon = ControllingDaemon()
      let attached = Attached()
      daemon.attach(attached, [.sweep(round: 1), LastCrashTests.crash], allowsRemoteControl: false)
      attached.wait()
      check(daemon.answers(2) == [.init(cs_control_result.CS_CONTROL_FORBIDDEN.rawValue, 0), .done(0)])
      check(Shield.lastCrash?.id == "3f2a9c54")
      Glibc.exit(right)
    }
  }

  @Test("a message about the last crash with control characters, wrong lengths or no time is refused")
  func malformed() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let daemon = ControllingDaemon()
      let attached = Attached()
      let wrong: [ControlMessage] = [
        .lastCrash(time_ns: 1, id: "a\u{1b}[2J", sentence: []), .lastCrash(time_ns: 1, id: "a", sentence: [10]),
        .lastCrash(time_ns: 1, id: "", sentence: [65]), .lastCrash(time_ns: 0, id: "a", sentence: []),
        .lastCrash(time_ns: 0, id: "", sentence: [65]), .lastCrash(time_ns: 1, id: "ab", sentence: [], idBytes: 1),
        .lastCrash(time_ns: 1, id: "ab", sentence: [], idBytes: 3),
        .lastCrash(time_ns: 1, id: "ab", sentence: [], idBytes: .max),
        .lastCrash(time_ns: 1, id: String(repeating: "a", count: 65), sentence: []),
        .lastCrash(time_ns: 1, id: "a", sentence: [UInt8](repeating: 65, count: 513)),
      ]
      daemon.attach(attached, wrong)
      attached.wait()
      let refused = ControllingDaemon.Answer(cs_control_result.CS_CONTROL_MALFORMED.rawValue, 0)
      check(daemon.answers(wrong.count) == wrong.map { _ in refused })
      check(Shield.lastCrash == nil)
      Glibc.exit(right)
    }
  }

  @Test("control characters and invalid UTF-8 in a message about the last crash are replaced")
  func hostileText() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let daemon = ControllingDaemon()
      let attached = Attached()
      let sentence = Array("a\u{9b}31m\u{202e}b".utf8) + [0xff]
      daemon.attach(attached, [.lastCrash(time_ns: 1, id: "a", sentence: sentence)])
      attached.wait()
      check(daemon.answers(1) == [.done(0)])
      check(Shield.lastCrash?.sentence == "a\u{fffd}31m\u{fffd}b\u{fffd}")
      Glibc.exit(right)
    }
  }

  @Test("a time limit beyond the range of the clock does not trap; a negative limit causes no wait")
  func limits() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let daemon = ControllingDaemon()
      let attached = Attached()
      daemon.attach(attached, [.sweep(round: 1)])
      attached.wait()
      check(daemon.answers(1) == [.done(0)])
      for limit in [Duration.seconds(Int64.min), Duration(_high: .min, low: 0)] {
        check(await Shield.lastCrash(within: limit) == nil)
      }
      async let seconds = Shield.lastCrash(within: .seconds(Int64.max))
      async let attoseconds = Shield.lastCrash(within: Duration(_high: .max, low: .max))
      // This call takes 100 ms, so that both tasks are waiting afterwards.
      check(await Shield.lastCrash(within: .milliseconds(100)) == nil)
      daemon.send(LastCrashTests.crash)
      let crashes = await [seconds, attoseconds]
      check(crashes.map { $0?.id } == ["3f2a9c54", "3f2a9c54"])
      Glibc.exit(right)
    }
  }

  @Test("lastCrash is nil if the shield has not started, or if crashd sends no message before the limit")
  func unknown() async {
    await #expect(processExitsWith: .exitCode(right)) {
      check(await Shield.lastCrash(within: .seconds(600)) == nil)
      check(Shield.start(configuration: .init(socket: "/dev/null/attach", spool: "/dev/null/spool")).isStarted)
      check(await Shield.lastCrash(within: .milliseconds(1)) == nil)
      Glibc.exit(right)
    }
  }
}
