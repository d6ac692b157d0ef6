import CrashProtocol
import CrashStore
import Glibc
import LinuxSystem
import Testing

@testable import CrashDaemon

@Suite("Access rules")
struct AccessRuleTests {
  @Test("root, crashd's own user and members of its group see all reports; others see their own")
  func visibility() {
    let rule = AccessRule(user: 990, group: AccessRule.Group(number: 995, name: "crashd"))
    let stranger = Peer(pid: 1, uid: 54_321)
    let here = { ClientOrigin.here }
    #expect(rule.visibility(of: Peer(pid: 1, uid: 0), origin: here) { _ in false } == .all)
    #expect(rule.visibility(of: Peer(pid: 1, uid: 990), origin: here) { _ in false } == .all)
    #expect(rule.visibility(of: stranger, origin: here) { $0 == 995 } == .all)
    #expect(rule.visibility(of: stranger, origin: here) { $0 != 995 } == .user(54_321))
    // Without an access group, the groups of a peer have no effect.
    #expect(AccessRule(user: 990).visibility(of: stranger, origin: here) { _ in true } == .user(54_321))
    #expect(AccessRule().user == geteuid())
  }

  @Test("a peer in another pid namespace has no full access; in another user namespace only crashd's user has it")
  func namespaces() {
    var rule = AccessRule(user: 990, group: AccessRule.Group(number: 995, name: "crashd"))
    for uid in [0, 990, 54_321] as [UInt32] {
      let peer = Peer(pid: 1, uid: uid)
      #expect(rule.visibility(of: peer, origin: { .elsewhere }) { _ in true } == .user(uid))
      let isOwn = uid == 990
      #expect(rule.visibility(of: peer, origin: { .otherUserNamespace }) { _ in true } == (isOwn ? .all : .user(uid)))
    }
    // If crashd itself runs as root, root is crashd's user, but has full access only in crashd's own user namespace.
    let root = AccessRule(user: 0)
    #expect(root.visibility(of: Peer(pid: 1, uid: 0), origin: { .otherUserNamespace }) { _ in false } == .user(0))
    rule.root = .all
    #expect(rule.visibility(of: Peer(pid: 1, uid: 0), origin: { .elsewhere }) { _ in false } == .all)
    // The namespaces of a peer that has no full access anyway are not queried.
    let never = { () -> ClientOrigin in
      Issue.record("crashd asked for the namespaces")
      return .here
    }
    #expect(rule.visibility(of: Peer(pid: 1, uid: 7), origin: never) { _ in false } == .user(7))
  }

  @Test("the kernel's information about a pidfd has the pid of each pid namespace; hostile or missing lines have none")
  func information() {
    let text = "pos:\t0\nflags:\t02000002\nmnt_id:\t15\nino:\t1050\nPid:\t4711\nNSpid:\t4711\t7\n"
    #expect(ClientOrigin.pids(inInformation: text) == [4_711, 7])
    #expect(ClientOrigin.pids(inInformation: text.replacing("\t7\n", with: "\n")) == [4_711])
    #expect(ClientOrigin.pids(inInformation: "Pid:\t0\nNSpid:\t0\n") == [0])
    for wrong in ["", "Pid:\t7\n", "NSpid:", "xNSpid:\t7\n"] {
      #expect(ClientOrigin.pids(inInformation: wrong).isEmpty, "\(wrong)")
    }
  }

  @Test(
    "access.group takes own, none, or a valid group name or number other than root's and nogroup",
    arguments: [
      ("own", .own), ("none", .noGroup), ("crashd", .named("crashd")), ("CORP\\readers", .named("CORP\\readers")),
      ("995", .numbered(995)), ("4294967294", .numbered(4_294_967_294)),
      // Refused values: root's group, nogroup, numbers outside the range of gids, and strings that are not names.
      ("0", nil), ("00", nil), ("65534", nil), ("4294967295", nil), ("4294967296", nil), ("", nil), ("two words", nil),
      ("a:b", nil), ("a,b", nil), ("a\nb", nil), (String(repeating: "a", count: 257), nil),
    ] as [(String, AccessGroup?)])
  func words(text: String, group: AccessGroup?) {
    #expect(AccessGroup(text) == group)
    if let group { #expect(group.text == text) }
  }

  // In this test, the group crashd has the number 995. crashd accepts only system groups by number.
  private static let names = GroupNames(
    find: { name in ["crashd": 995, "root": 0, "nogroup": 65_534, "people": 1_001][name] },
    has: { number, name in
      #expect((1..<1_000).contains(number))
      return number == 995 && name == "crashd"
    })

  @Test(
    "the default access group is the group that crashd runs as, if it is named crashd and a system group",
    arguments: [(995, 995), (0, nil), (100, nil), (1_000, nil), (65_534, nil), (.max, nil)] as [(UInt32, UInt32?)])
  func own(runningAs: UInt32, found: UInt32?) throws {
    #expect(try AccessGroup.own.resolve(runningAs: runningAs, names: Self.names)?.number == found)
  }

  @Test("a configured access group applies for any user that crashd runs as; root's group and nogroup are refused")
  func said() throws {
    let crashd = AccessRule.Group(number: 995, name: "crashd")
    #expect(try AccessGroup.named("crashd").resolve(runningAs: 0, names: Self.names) == crashd)
    #expect(try AccessGroup.named("people").resolve(runningAs: 995, names: Self.names)?.number == 1_001)
    #expect(try AccessGroup.numbered(7).resolve(names: Self.names) == AccessRule.Group(number: 7, name: "7"))
    #expect(try AccessGroup.noGroup.resolve(runningAs: 995, names: Self.names) == nil)
    for (name, part) in [("root", "number 0"), ("nogroup", "number 65534"), ("crsahd", "no group 'crsahd'")] {
      let problem = #expect(throws: AccessGroup.Problem.self) {
        try AccessGroup.named(name).resolve(names: Self.names)
      }
      #expect(problem?.description.contains(part) == true)
    }
  }

  @Test("an access group whose name cannot be resolved is an error")
  func noNames() {
    let names = GroupNames(
      find: { _ throws(SystemError) in throw SystemError("look", code: EIO) },
      has: { _, _ throws(SystemError) in throw SystemError("look", code: EIO) })
    #expect(throws: AccessGroup.Problem.self) { try AccessGroup.named("crashd").resolve(names: names) }
    #expect(throws: AccessGroup.Problem.self) { try AccessGroup.own.resolve(runningAs: 995, names: names) }
  }

  @Test("the name root resolves to the number 0, and no other name does")
  func system() throws {
    #expect(try GroupNames.system.find("root") == 0)
    #expect(try GroupNames.system.find("there-is-no-such-group") == nil)
    #expect(try GroupNames.system.has(0, "root"))
    #expect(try !GroupNames.system.has(0, "crashd"))
    #expect(try !GroupNames.system.has(4_294_967_000, "root"))
  }

  @Test("an unknown access group grants no access; crashd logs an error and continues")
  func missing() async throws {
    try await TestDaemon.run(configure: { $0.settings.accessGroup = .named("there-is-no-such-group") }) { daemon in
      #expect(daemon.log.contains("error: access.group: there is no group 'there-is-no-such-group'"))
      let access = try await daemon.client().call("io.crashshield.Crashd.Status").object("access")
      #expect(access == ["uid": .int(Int(geteuid())), "all": .bool(true)])
    }
  }
}
