import CShimRing
import CrashShield
import CrashShieldGuards
import Glibc
import Testing

/// Tests crashd's control messages over a real socket.
///
/// The test process acts as crashd at the other end of the socket.
@Suite(.enabled(if: Shield.danglingUnavailableReason == nil, "the quarantine is unavailable here"))
struct ControlTests {
  private static let session = "CrashShieldTests.Session"

  @Test("settings that crashd sends after the attach reply apply before the program receives the status `attached`")
  func first() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let daemon = ControllingDaemon()
      let attached = Attached()
      daemon.attach(
        attached,
        [
          .settings(budget: 1 << 16, round: 1), .protect(ControlTests.session, policy: 1, limit: 7, round: 1),
          .protect("$s16CrashShieldTests5GuestC", policy: 0, limit: 9, round: 1), .sweep(round: 1),
        ])
      attached.wait()
      check(daemon.answers(4) == [.done(0), .done(1), .done(1), .done(0)])
      let session = Shield.danglingStatistics(of: Session.self)
      check(session?.isProtected == true && session?.policy == .zero && session?.limit == 7)
      let guest = Shield.danglingStatistics(of: Guest.self)
      check(guest?.isProtected == true && guest?.policy == .absorb && guest?.limit == 9)
      Glibc.exit(right)
    }
  }

  @Test("a new round of settings from crashd replaces the previous round, even if the new round has no class")
  func rounds() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let daemon = ControllingDaemon()
      let attached = Attached()
      daemon.attach(attached, [.protect(ControlTests.session, round: 1), .sweep(round: 1)])
      attached.wait()
      check(daemon.answers(2) == [.done(1), .done(0)])
      daemon.send(.protect("CrashShieldTests.Guest", round: 2))
      daemon.send(.sweep(round: 2))
      check(daemon.answers(2) == [.done(1), .done(1)])
      check(Shield.danglingStatistics(of: Session.self)?.isProtected == false)
      check(Shield.danglingStatistics(of: Guest.self)?.isProtected == true)
      // After crashd has closed the connection, the shield attaches again by itself. The new crashd sends no settings.
      daemon.hangUp()
      daemon.attach(nil, [])
      attached.wait()
      check(Shield.danglingStatistics(of: Guest.self)?.isProtected == false)
      Glibc.exit(right)
    }
  }

  @Test("the program's setting takes precedence over crashd's decision, and an override takes precedence over both")
  func precedence() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Session.self, policy: .absorb, limit: 5)
      check(!Shield.unprotect(Guest.self))
      let daemon = ControllingDaemon()
      let attached = Attached()
      daemon.attach(
        attached,
        [
          .protect(ControlTests.session, policy: 1, limit: 60, round: 1),
          .protect("CrashShieldTests.Guest", round: 1), .sweep(round: 1),
        ])
      attached.wait()
      check(daemon.answers(3) == [.init(5, 0), .init(5, 0), .done(0)])
      check(Shield.danglingStatistics(of: Session.self)?.limit == 5)
      check(Shield.danglingStatistics(of: Guest.self)?.isProtected != true)

      daemon.send(.protect(ControlTests.session, policy: 1, limit: 60, round: 2, flags: CS_CONTROL_OPERATOR))
      daemon.send(.release("CrashShieldTests.Outer.Nested", round: 2))
      daemon.send(.sweep(round: 2))
      check(daemon.answers(3).prefix(2) == [.done(1), .done(1)])
      check(Shield.danglingStatistics(of: Session.self)?.policy == .zero)
      try Shield.protect(Session.self, policy: .absorb, limit: 4)
      try Shield.protect(Outer.Nested.self)
      check(Shield.danglingStatistics(of: Session.self)?.limit == 60)
      check(Shield.danglingStatistics(of: Outer.Nested.self)?.isProtected != true)

      // This round has neither an override nor a decision of crashd, so the program's last setting applies.
      daemon.send(.sweep(round: 3))
      check(daemon.answers(1) == [.done(2)])
      check(Shield.danglingStatistics(of: Session.self)?.limit == 4)
      check(Shield.danglingStatistics(of: Outer.Nested.self)?.isProtected == true)

      daemon.send(.settings(budget: 0, round: 4, flags: CS_CONTROL_OPERATOR | CS_CONTROL_OFF))
      check(daemon.answers(1) == [.done(0)])
      check(Shield.danglingStatistics(of: Session.self)?.isProtected == false)
      daemon.send(.sweep(round: 5))
      check(daemon.answers(1).count == 1)
      check(Shield.danglingStatistics(of: Session.self)?.isProtected == true)
      Glibc.exit(right)
    }
  }

  @Test("an override of a guard mode takes precedence until the override ends; then the program's last mode applies")
  func guards() async {
    await #expect(processExitsWith: .exitCode(right)) {
      Shield.setMode(.observe, for: .index)
      let daemon = ControllingDaemon()
      let attached = Attached()
      daemon.attach(attached, [.guards([1: 3, 8: 1], implicit: [2: 3], round: 1), .sweep(round: 1)])
      attached.wait()
      check(daemon.answers(2) == [.done(3), .done(0)])
      check(Shield.mode(for: .index) == .absorb && Shield.mode(for: .unwrap) == .off)
      check(Shield.mode(for: .range) == .absorb && Shield.implicitMode(for: .range) == .absorb)
      check(Shield.implicitMode(for: .arithmetic) == .observe)
      // In the mode `observe`, which the program has set, this fault would end the process.
      check([1, 2][shielded: Int(getpid())] == nil)
      Shield.setMode(.off, for: .index)
      Shield.setImplicitMode(.off, for: .range)
      check(Shield.mode(for: .index) == .absorb && Shield.implicitMode(for: .range) == .absorb)

      // This round (a complete set of control messages) sets a mode for another guard kind than the earlier round.
      daemon.send(.guards([9: 2], round: 2))
      check(daemon.answers(1) == [.done(1)])
      check(Shield.mode(for: .cast) == .observe)
      check(Shield.mode(for: .index) == .off && Shield.implicitMode(for: .range) == .off)
      // The shield rejects a whole message if one mode byte is invalid, or if the message has one kind too few or too
      // many.
      var short = ControlMessage.guards([1: 3], round: 3)
      short.bytes[20] -= 1
      short.bytes.removeLast()
      var long = ControlMessage.guards([1: 3], round: 3)
      long.bytes[20] += 1
      long.bytes.append(0)
      let wrong = [
        .guards([1: 3, 63: 4], round: 3), .guards([1: 3], implicit: [0: 255], round: 3), short, long,
      ]
      wrong.forEach(daemon.send)
      check(daemon.answers(4).allSatisfy { $0 == .init(1, 0) })
      check(Shield.mode(for: .index) == .off && Shield.mode(for: .cast) == .observe)
      // A round without guard modes removes the overrides of guard modes, and so does a new crashd that sends no
      // settings.
      daemon.send(.sweep(round: 2))
      check(daemon.answers(1) == [.done(0)] && Shield.mode(for: .cast) == .observe)
      daemon.send(.sweep(round: 4))
      check(daemon.answers(1) == [.done(0)] && Shield.mode(for: .cast) == .absorb)
      // crashd never sends round 0. The modes in a message of round 0 still apply until the connection ends.
      daemon.send(.guards([9: 1], round: 0))
      check(daemon.answers(1) == [.done(1)] && Shield.mode(for: .cast) == .off)
      daemon.hangUp()
      daemon.attach(nil, [])
      attached.wait()
      check(Shield.mode(for: .cast) == .absorb && Shield.mode(for: .index) == .off)
      Glibc.exit(right)
    }
  }

  @Test("for unknown classes, generic classes, later versions and unknown kinds, the shield sends different answers")
  func unknown() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let daemon = ControllingDaemon()
      let attached = Attached()
      var later = ControlMessage.sweep(round: 1)
      later.bytes[8] = 2
      var kind = ControlMessage.sweep(round: 1)
      kind.bytes[12] = 99
      daemon.attach(
        attached,
        [
          .protect("CrashShieldTests.Absent", round: 1), .protect("CrashShieldTests.Box", round: 1),
          .protect("CrashShield.Protections", round: 1), later, kind,
        ])
      attached.wait()
      check(daemon.answers(5).map(\.result) == [6, 7, 6, 2, 2])
      daemon.send(.protectOwn(round: 2))
      let own = daemon.answers(1)[0]
      check(own.result == 0 && own.count > 3)
      check(Shield.danglingStatistics(of: Session.self)?.isProtected == true)
      Glibc.exit(right)
    }
  }

  @Test("malformed control messages have no effect, and the connection stays open")
  func malformed() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let daemon = ControllingDaemon()
      let attached = Attached()
      daemon.attach(attached, [])
      attached.wait()
      let good = ControlMessage.protect(ControlTests.session, round: 1)
      var bad = ControlMessage.malformed(good)
      let count = bad.count
      check(count > 30)
      while !bad.isEmpty {
        let some = bad.prefix(16)
        some.forEach(daemon.send)
        check(daemon.answers(some.count).allSatisfy { $0.result == 1 && $0.count == 0 })
        bad.removeFirst(some.count)
      }
      check(Shield.danglingStatistics().isEmpty)
      daemon.send(good)
      check(daemon.answers(1) == [.done(1)])
      Glibc.exit(right)
    }
  }

  @Test("a program can refuse remote control by its configuration")
  func forbidden() async {
    await #expect(processExitsWith: .exitCode(right)) {
      ControlTests.expectForbidden(byConfiguration: true)
      Glibc.exit(right)
    }
  }

  @Test("the environment can refuse remote control")
  func forbiddenFromOutside() async {
    await #expect(processExitsWith: .exitCode(right)) {
      // Invariant: no other thread runs in this process yet.
      unsafe setenv("CRASHSHIELD_CONTROL", "0", 1)
      ControlTests.expectForbidden(byConfiguration: false)
      Glibc.exit(right)
    }
  }

  private static func expectForbidden(byConfiguration: Bool) {
    let daemon = ControllingDaemon()
    let attached = Attached()
    let messages: [ControlMessage] = [.protectOwn(round: 1), .guards([1: 1], round: 1)]
    daemon.attach(attached, messages, allowsRemoteControl: byConfiguration ? false : nil)
    attached.wait()
    check(daemon.answers(2) == [.init(3, 0), .init(3, 0)])
    check(Shield.danglingStatistics().isEmpty && Shield.mode(for: .index) == .absorb)
  }
}
