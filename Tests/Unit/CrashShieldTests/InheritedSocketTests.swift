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

  @Test("a socket without a name is called unknown")
  func noNames() {
    #expect(InheritedSocket.parse(pid: "42", count: "1", names: nil, own: 42).map(\.name) == ["unknown"])
  }

  @Test("sockets that were passed to another process are ignored")
  func otherProcess() {
    #expect(InheritedSocket.parse(pid: "41", count: "1", names: nil, own: 42).isEmpty)
    #expect(InheritedSocket.parse(pid: nil, count: "1", names: nil, own: 42).isEmpty)
  }

  @Test("an invalid number of sockets passes no socket", arguments: [nil, "", "0", "-1", "x", "1025", "99999999999"])
  func invalidCount(_ count: String?) {
    #expect(InheritedSocket.parse(pid: "42", count: count, names: nil, own: 42).isEmpty)
  }
}
