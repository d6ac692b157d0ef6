import CTestKit
import Glibc
import LinuxSystem
import Synchronization

/// A child process that attaches several times, because it executes one program after the other.
final class Successor: Sendable {
  let pid: pid_t
  let programs: [TestProcess]
  private let link: Descriptor
  private let isReaped = Atomic(false)

  /// Starts the child, which has one socket for each program.
  ///
  /// No socket is connected to crashd's socket at `path` before `become` connects it.
  init(path: String, programs count: Int) throws {
    programs = try (0..<count).map { _ in
      let number = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard number >= 0 else { throw SystemError("make a socket") }
      return TestProcess(TestSocket(unconnected: Descriptor(owning: number)))
    }
    let sockets = programs.map(\.socket.descriptor.number)
    var (link, child): (Int32, pid_t) = (-1, 0)
    // Invariant: the array has as many elements as the passed count, and the path ends with a NUL.
    let code = unsafe cd_test_successor_start(path, sockets, count, &link, &child)
    try SystemError.check(code, "start a child")
    (pid, self.link) = (child, Descriptor(owning: link))
  }

  /// Executes the next program, which sends a hello.
  func become(_ index: Int, _ ring: TestRing) throws {
    // `exec` closes the connection of the previous program.
    if index > 0 { programs[index - 1].hangUp() }
    try SystemError.check(cd_test_successor_connect(link.number), "connect as program \(index)")
    try programs[index].send(TestProcess.hello(), [ring.memory()])
  }

  /// Kills the process, and reaps its zombie if `isReaped`.
  func die(isReaped: Bool) throws {
    kill(pid, SIGKILL)
    try wait(isReaped ? WEXITED : WEXITED | WNOWAIT)
    self.isReaped.store(isReaped, ordering: .relaxed)
    programs.last?.hangUp()
  }

  private func wait(_ options: Int32) throws {
    var information = unsafe siginfo_t()
    // waitid() writes one siginfo_t.
    guard unsafe waitid(P_PID, id_t(pid), &information, options) == 0 else { throw SystemError("wait for a child") }
  }

  deinit {
    if isReaped.load(ordering: .relaxed) { return }
    kill(pid, SIGKILL)
    try? wait(WEXITED)
  }
}
