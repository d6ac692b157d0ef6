public import CrashProtocol
internal import CrashReport
import FoundationEssentials
import Glibc
internal import LinuxSystem

/// `debug`: a debugger on the core dump of a crash.
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
  ///   - debugger: Its name or path; by default the first of gdb and lldb.
  ///   - core: A core dump; by default the one that the system wrote.
  /// - Throws: `Failure` if there is no core dump or debugger, or if crashctl has more privileges than its caller: a
  ///   debugger is a shell.
  public func run(debugger: String?, core: String?) throws(Failure) -> Never {
    if let surplus = CallerRights(environment: environment).surplus {
      throw Failure(
        .usage, "debug starts a debugger, which is a shell, and \(surplus): log in as root, or unset it in a root shell"
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
      // Both take a core this way, and then the program of a report that may be passed on.
      words = [tool] + program() + ["-c", path.hasPrefix("-") ? "./" + path : path]
    case .systemd:
      guard let tool = path(of: "coredumpctl") else {
        throw Failure(
          .nothingFound, "systemd-coredump keeps the cores, and there is no coredumpctl: install systemd-coredump")
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

  /// The executable if it is safe to pass; else the debugger gets only the core dump, and `file PATH` in it helps.
  private func program() -> [String] {
    let process = received.report.process
    do throws(DebuggedProgram.Refusal) { return [try DebuggedProgram(of: process).path] } catch {
      Output.complain(
        "'\(process.executable)' \(error.reason): the debugger starts without it; name one with `file PATH`")
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

  /// The debugger owns the terminal and its signals until it ends.
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
