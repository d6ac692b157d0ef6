public import CrashProtocol
internal import CrashReport
import FoundationEssentials
import Glibc
internal import LinuxSystem

/// Implements `debug`: starts a debugger with the core dump of a crash.
public struct Debugging: Sendable {
  private let received: ReceivedReport
  private let environment: [String: String]

  /// Prepares to debug a crash.
  public init(_ received: ReceivedReport, environment: [String: String]) {
    self.received = received
    self.environment = environment
  }

  /// Runs the debugger, and exits with its status.
  /// - Parameters:
  ///   - debugger: The debugger's name or path. The default is gdb, or lldb if gdb is not installed.
  ///   - core: The path of a core dump. The default is the core dump that the system wrote.
  /// - Throws: `Failure` if there is no core dump or debugger, or if crashctl has more privileges than its caller,
  ///   because a debugger gives access to a shell.
  public func run(debugger: String?, core: String?) throws(Failure) -> Never {
    if let surplus = CallerRights(environment: environment).surplus {
      throw Failure(
        .usage, "a debugger gives access to a shell, and \(surplus): log in as root, or unset it in a root shell"
      )
    }
    let report = received.report
    let place =
      core.map { CoreFile.file($0) }
      ?? CoreFile.find(
        of: report, pattern: SmallText.read("/proc/sys/kernel/core_pattern") ?? "",
        addsPid: SmallText.read("/proc/sys/kernel/core_uses_pid")?.hasPrefix("0") == false)
    let words: [String]
    switch place {
    case .file(let path):
      guard unsafe access(path, R_OK) == 0 else {
        throw Failure(.nothingFound, "cannot read '\(path)' (\(SystemError.text(errno)))")
      }
      let tool = try find(debugger)
      // gdb and lldb accept the same arguments: the executable, if it is safe to pass, then the core dump.
      words = [tool] + program() + ["-c", path.hasPrefix("-") ? "./" + path : path]
    case .systemd:
      guard let tool = path(of: "coredumpctl") else {
        throw Failure(
          .nothingFound, "systemd-coredump has the core dumps, but coredumpctl is missing: install systemd-coredump")
      }
      words = [tool, "debug", "--debugger=\(try find(debugger))", "\(report.process.pid)"]
    case .none(let reason): throw noCore(reason)
    }
    try execute(words)
  }

  private func noCore(_ reason: String) -> Failure {
    let (process, id) = (received.report.process, Listings.shortID(received.report.id))
    return Failure(
      .nothingFound,
      "there is no core of \(process.name)[\(process.pid)]: \(reason); name one with --core, or see crashctl show \(id), or "
        + "crashctl dump \(id) --format minidump -o FILE and lldb -c FILE")
  }

  /// Returns the executable if it is safe to pass.
  ///
  /// If the executable is not safe, crashctl passes only the core dump, and the user can enter `file PATH` in the
  /// debugger.
  private func program() -> [String] {
    let process = received.report.process
    do throws(DebuggedProgram.Refusal) { return [try DebuggedProgram(of: process).path] } catch {
      Output.complain(
        "'\(process.executable)' \(error.reason): the debugger starts without the executable; load it with `file PATH`")
      return []
    }
  }

  private func find(_ debugger: String?) throws(Failure) -> String {
    let names = debugger.map { [$0] } ?? ["gdb", "lldb"]
    guard let tool = names.lazy.compactMap(path(of:)).first else {
      let missing = names.joined(separator: " and no ")
      throw Failure(.nothingFound, "there is no \(missing): install one, or name it with --debugger")
    }
    return tool
  }

  private func path(of name: String) -> String? {
    if name.contains("/") { return unsafe access(name, X_OK) == 0 ? name : nil }
    let directories = (environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
    return directories.map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
  }

  /// Runs the debugger, waits for it, and exits with its status.
  ///
  /// The debugger controls the terminal and receives its signals.
  private func execute(_ words: [String]) throws(Failure) -> Never {
    let before = SignalSet([SIGINT, SIGQUIT, SIGTSTP]).block()
    let end: ChildProcess.End?
    do throws(ChildProcess.StartError) {
      end = try ChildProcess(
        words[0], Array(words.dropFirst()), .init(environment: environment, signalMask: before)
      ).wait(timeout_ms: -1)
    } catch {
      throw Failure(.nothingFound, "cannot run '\(error.file)' (\(SystemError.text(error.errno)))")
    }
    if case .exited(let code)? = end { exit(code) }
    exit(1)
  }
}
