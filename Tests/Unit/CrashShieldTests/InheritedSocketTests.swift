import Glibc
import LinuxSystem
import Testing

@testable import CrashShieldSockets

@Suite("InheritedSocket")
struct InheritedSocketTests {
  private func numbers(_ sockets: [InheritedSocket]) -> [Int32] { sockets.map(\.descriptor) }

  @Test("passed sockets have the numbers from 3 on, and the names from the supervisor")
  func names() {
    let sockets = InheritedSocket.parse(pid: "42", count: "3", names: "http::admin", own: 42)
    #expect(numbers(sockets) == [3, 4, 5])
    #expect(sockets.map(\.name) == ["http", "unknown", "admin"])
  }

  @Test("a passed socket without a name has the name unknown")
  func noNames() {
    #expect(InheritedSocket.parse(pid: "42", count: "1", names: nil, own: 42).map(\.name) == ["unknown"])
  }

  @Test("sockets that were passed to another process are ignored")
  func otherProcess() {
    #expect(InheritedSocket.parse(pid: "41", count: "1", names: nil, own: 42).isEmpty)
    #expect(InheritedSocket.parse(pid: nil, count: "1", names: nil, own: 42).isEmpty)
  }

  @Test("with an invalid LISTEN_FDS, no socket is passed", arguments: [nil, "", "0", "-1", "x", "1025", "99999999999"])
  func invalidCount(_ count: String?) {
    #expect(InheritedSocket.parse(pid: "42", count: count, names: nil, own: 42).isEmpty)
  }

  /// Sets the environment variables as a supervisor does that has passed the descriptors from 3 to `descriptor`.
  private static func pass(upTo descriptor: Int32) {
    // Invariant: setenv copies the strings. No other thread of an exit test changes the environment.
    unsafe setenv("LISTEN_PID", "\(getpid())", 1)
    unsafe setenv("LISTEN_FDS", "\(descriptor - 2)", 1)
    unsafe setenv("LISTEN_FDNAMES", "", 1)
  }

  private static func socket(queue: Int32?) -> Descriptor {
    let descriptor = Descriptor(owning: Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
    if let queue { #expect(listen(descriptor.number, queue) == 0) }
    return descriptor
  }

  @Test("only listening sockets are passed, and other descriptors stay open for children")
  func onlyListening() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let silent = Self.socket(queue: nil)
      let listening = Self.socket(queue: 1)
      Self.pass(upTo: max(silent.number, listening.number) + 1)
      let isRight =
        InheritedSocket.all() == [InheritedSocket(descriptor: listening.number, name: "unknown")]
        && fcntl(listening.number, F_GETFD) == FD_CLOEXEC && fcntl(silent.number, F_GETFD) == 0
      exit(isRight ? right : 1)
    }
  }

  @Test(
    "a set-user-ID or set-group-ID program gets no sockets", .enabled(if: geteuid() == 0),
    arguments: [true, false])
  func setUserID(_ isGroup: Bool) async {
    await #expect(processExitsWith: .exitCode(right)) { [isGroup] in
      let listening = Self.socket(queue: 1)
      Self.pass(upTo: listening.number)
      guard InheritedSocket.all().map(\.descriptor) == [listening.number] else { exit(1) }
      guard isGroup ? setegid(65_534) == 0 : seteuid(65_534) == 0 else { exit(1) }
      exit(InheritedSocket.all().isEmpty ? right : 1)
    }
  }
}
