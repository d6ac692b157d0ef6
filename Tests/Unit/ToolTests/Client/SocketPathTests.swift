import Foundation
import Glibc
import Testing

@testable import CrashClient

@Suite("Finding crashd's socket")
struct SocketPathTests {
  /// Returns whether the search finds crashd's socket in a runtime directory with this owner and mode.
  private func isFound(owner: uid_t, mode: mode_t) throws -> Bool {
    let directory = "/tmp/cs-runtime-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    // Invariant: the C string is valid during the calls.
    try #require(unsafe chmod(directory, mode) == 0 && (owner == geteuid() || chown(directory, owner, owner) == 0))
    let path = SocketPath.find(
      option: nil, environment: ["XDG_RUNTIME_DIR": directory], systemDirectory: "/nonexistent")
    return path == directory + "/crashd/io.crashshield.Crashd"
  }

  @Test("F7: crashctl trusts a runtime directory only if the caller owns it and no other user can write to it")
  func own() throws {
    #expect(try isFound(owner: geteuid(), mode: 0o700))
    #expect(try !isFound(owner: geteuid(), mode: 0o720))
    #expect(try !isFound(owner: geteuid(), mode: 0o702))
  }

  @Test("F7: crashctl does not call the daemon in another user's runtime directory", .enabled(if: geteuid() == 0))
  func foreign() throws {
    #expect(try !isFound(owner: 65_534, mode: 0o700))
  }

  @Test("the option --socket takes precedence over CRASHD_SOCKET, and CRASHD_SOCKET over the directories")
  func order() {
    let environment = ["CRASHD_SOCKET": "/b", "XDG_RUNTIME_DIR": "/c"]
    #expect(SocketPath.find(option: "/a", environment: environment, systemDirectory: "/nonexistent") == "/a")
    #expect(SocketPath.find(option: nil, environment: environment, systemDirectory: "/nonexistent") == "/b")
    let nothing = SocketPath.find(option: nil, environment: [:], systemDirectory: "/nonexistent")
    #expect(nothing == "/nonexistent/crashd/io.crashshield.Crashd")
  }
}
