import CLinux
import CrashReport
import Glibc
import LinuxSystem

/// The result that systemd recorded for a service whose main process ended by a signal.
///
/// crashd reads the result with the program `systemctl`, and only for an unreported exit (an exit without a crash
/// record). The analysis of a crash does not use this program.
///
/// There is no result in three cases: the machine does not run systemd, the process was not the main process of its
/// unit, or systemd has already restarted the unit.
struct UnitResult: Sendable, Equatable {
  /// The result as systemd names it, such as `oom-kill`, `timeout`, `watchdog` or `signal`.
  var word: String

  private enum Answer: Equatable {
    case result(UnitResult)
    /// systemd has not handled the exit of the process yet, so the result must be read again.
    case notYet
    case nothing
  }

  private static let program = "/usr/bin/systemctl"
  /// The directory `/run/systemd/system` exists only if systemd is the init system (sd_booted(3)).
  private static let mark = "/run/systemd/system"
  private static let call_ms = 2_000
  /// The times for which crashd waits before each attempt to read the result.
  ///
  /// systemd usually handles an exit immediately. The later attempts are needed on an overloaded machine.
  private static let pauses_ms = [0, 50, 200, 800]
  private static let answerLimit = 4_096

  /// Returns the result for a process that ended by a signal.
  static func of(unit: String, pid: Int32, signal: Int) async -> UnitResult? {
    guard unsafe access(mark, F_OK) == 0, unsafe access(program, X_OK) == 0 else { return nil }
    for pause in pauses_ms {
      try? await Task.sleep(for: .milliseconds(pause))
      switch parse(await ask(unit), pid: pid, signal: signal) {
      case .result(let result): return result
      case .nothing: return nil
      case .notYet: continue
      }
    }
    return nil
  }

  /// Parses the output of `systemctl show`.
  /// - Parameters:
  ///   - text: The output of `systemctl show`, with lines of the form `KEY=VALUE`.
  ///   - pid: The pid of the ended process.
  ///   - signal: The signal that ended the process.
  /// - Returns: The result of the unit; nil if the output refers to another process or exit.
  static func read(_ text: String, pid: Int32, signal: Int) -> UnitResult? {
    if case .result(let result) = parse(text, pid: pid, signal: signal) { result } else { nil }
  }

  private static func parse(_ text: String, pid: Int32, signal: Int) -> Answer {
    var values: [Substring: Substring] = [:]
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { values[parts[0]] = parts[1] }
    }
    guard values["ExecMainPID"].flatMap({ Int32($0) }) == pid else { return .nothing }
    // In ExecMainCode, 2 means CLD_KILLED, and 3 means CLD_DUMPED. The value of ExecMainCode is 0 until systemd has
    // handled the exit.
    switch values["ExecMainCode"].flatMap({ Int($0) }) {
    case 0: return .notYet
    case 2, 3: break
    default: return .nothing
    }
    guard values["ExecMainStatus"].flatMap({ Int($0) }) == signal, let word = values["Result"], word != "success",
      word.wholeMatch(of: /[a-z-]{1,32}/) != nil
    else { return .nothing }
    return .result(UnitResult(word: String(word)))
  }

  private static func ask(_ unit: String) async -> String {
    await withCheckedContinuation { continuation in
      let work = { @Sendable in continuation.resume(returning: (try? run(unit)) ?? "") }
      do throws(SystemError) { try Thread.start(named: "systemctl", work) } catch { continuation.resume(returning: "") }
    }
  }

  private static func run(_ unit: String) throws -> String {
    let number = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw SystemError("open '/dev/null'") }
    let input = Descriptor(owning: number)
    var (reader, writer): (Int32, Int32) = (-1, -1)
    try SystemError.check(unsafe cd_pipe_create(&reader, &writer), "make a pipe")
    let (answer, output) = (Descriptor(owning: reader), Descriptor(owning: writer))
    let properties = "Result,ExecMainPID,ExecMainCode,ExecMainStatus"
    let child = HelperChild(
      program: program, arguments: ["show", "--no-pager", "--property=\(properties)", "--", unit], timeout_ms: call_ms)
    try child.run(input: input, output: output)
    var bytes = [UInt8](repeating: 0, count: answerLimit)
    // read writes at most `bytes.count` bytes, which is the size of the array. One read returns the whole output,
    // because four lines always fit into a pipe.
    let count = unsafe Glibc.read(answer.number, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }
}

/// Limits the number of concurrent `systemctl` processes, because many processes can end at once.
actor UnitResults {
  private var running = 0
  private static let limit = 2

  /// Returns the result of a unit; nil if there is no result, or if too many `systemctl` processes are running.
  func of(unit: String, pid: Int32, signal: Int) async -> UnitResult? {
    guard running < Self.limit else { return nil }
    running += 1
    defer { running -= 1 }
    return await UnitResult.of(unit: unit, pid: pid, signal: signal)
  }
}
