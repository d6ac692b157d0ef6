import TestKit
import Testing

@testable import CrashDaemon

@Suite("Accounts of uids")
struct UserAccountsTests {
  @Test("F11: a user's subordinate uids are treated as that user; those of root and of unknown owners are separate")
  func ranges() throws {
    let directory = try TestDirectory()
    let ranges = """
      ann:100000:65536
      1002:165536:65536
      root:231072:65536
      served:300000:10
      served:400000:10
      ann:500000:1
      bad line
      ann:x:1
      ann:4294967290:65536

      """
    let users = "root:x:0:0::/root:/bin/sh\nann:x:1001:1001::/:/bin/sh\n+bad\n"
    let accounts = UserAccounts(
      ranges: try directory.write(Array(ranges.utf8), to: "subuid"),
      users: try directory.write(Array(users.utf8), to: "passwd"))
    let expected: [UInt32: UInt32] = [
      0: 0, 1_001: 1_001, 99_999: 99_999, 100_000: 1_001, 165_535: 1_001, 165_536: 1_002, 231_072: 231_072,
      231_073: 231_072, 300_009: 300_000, 300_010: 300_010, 400_003: 300_000, 500_000: 1_001, 500_001: 500_001,
      4_294_967_295: 1_001,
    ]
    for (uid, account) in expected { #expect(accounts.account(of: uid) == account, "\(uid)") }
    let none = UserAccounts(ranges: "\(directory.path)/none", users: "\(directory.path)/none")
    #expect(none.account(of: 100_000) == 100_000)
  }
}
