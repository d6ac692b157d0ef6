import CLinux
import CrashReport
import LinuxSystem
import Synchronization

/// The last readings of a process that is there: the attach thread writes them, the pipeline reads them.
final class ProcessReadings: Sendable {
  private struct State {
    /// The last reading.
    var resources: CrashReport.Resources?
    /// The reading of the last crash.
    var ofCrash: CrashReport.Resources?
    /// When crashd last tried that one.
    var tried_ns: UInt64?
    /// Its slow files are read, or wait for that.
    var hasSlowRead = false
    var commandLine: String?
    var container: CrashReport.Container?
  }

  private let state = Mutex(State())
  /// A process wakes crashd twice for one crash; one that does so all the time costs one reading a second.
  private static let sameCrash_ns: UInt64 = 1_000_000_000

  /// Reads what the process uses now; keeps the last reading of one that ends meanwhile.
  /// - Parameters:
  ///   - facts: The process.
  ///   - pidfd: Its pidfd.
  ///   - isOfCrash: It stands in its crash handler.
  /// - Returns: Whether it was time to read.
  @discardableResult
  func measure(_ facts: ProcessFacts, _ pidfd: Descriptor, isOfCrash: Bool = false) -> Bool {
    let now = Moment.monotonic_ns()
    let isDue = state.withLock { state in
      guard isOfCrash else { return true }
      if let tried = state.tried_ns, now - tried < Self.sameCrash_ns { return false }
      state.tried_ns = now
      return true
    }
    guard isDue else { return false }
    let found = ProcessFigures.resources(pid: facts.peer.pid, limit: facts.context.memoryLimit, time: Moment.now())
    // Checked afterwards: a process that still exists had its pid all the time. One that exits has no memory any more.
    guard cd_process_exists(pidfd.number), found.residentBytes != nil else { return true }
    state.withLock { state in
      state.resources = found
      if isOfCrash { state.ofCrash = found }
    }
    return true
  }

  /// Reads the command line, and the container where the control groups do not name it, on a thread that may wait.
  ///
  /// The kernel reads the arguments from the memory of the process, and may wait for it or for a file mapped there.
  /// Once; again where too many readings of the account waited before.
  /// - Parameters:
  ///   - facts: The process.
  ///   - pidfd: Its pidfd.
  ///   - account: The account of its user for limits.
  ///   - privacy: The rules now.
  ///   - waiting: The readings that wait.
  func readLater(
    _ facts: ProcessFacts, _ pidfd: Descriptor, of account: UInt32, _ privacy: PrivacySettings,
    waiting: WaitingReads = .shared
  ) {
    let (peer, needsContainer) = (facts.peer, facts.context.container == nil)
    guard needsContainer || privacy.commandLine, !state.withLock({ $0.hasSlowRead }), waiting.begin(account) else {
      return
    }
    state.withLock { $0.hasSlowRead = true }
    ForeignFileWork.shared.submit(of: peer.uid, at: "command lines") {
      defer { waiting.end(account) }
      let bytes =
        privacy.commandLine
        ? SmallFile.text(at: "/proc/\(peer.pid)/cmdline", limitBytes: CommandLine.readLimitBytes) : nil
      let mounts = needsContainer ? SmallFile.text(at: "/proc/\(peer.pid)/mountinfo", limitBytes: Self.mountBytes) : nil
      guard cd_process_exists(pidfd.number) else { return }
      // The rules were checked when the settings were read. Without them nothing is kept.
      let text = (try? TextScrubber(privacy)).flatMap { scrubber in
        bytes.flatMap { CommandLine.text($0, scrubbedBy: scrubber) }
      }
      self.state.withLock { ($0.commandLine, $0.container) = (text, mounts.flatMap(ContainerName.of(mounts:))) }
    }
  }

  private static let mountBytes = 65_536

  /// What is known now, beside what was known at the attach.
  /// - Parameters:
  ///   - context: What was known.
  ///   - isOfCrash: The reading of the last crash, where there was one; else the last reading.
  /// - Returns: Both.
  func added(to context: ProcessContext, isOfCrash: Bool = true) -> ProcessContext {
    var context = context
    state.withLock { state in
      context.resources = (isOfCrash ? state.ofCrash : nil) ?? state.resources ?? context.resources
      context.commandLine = state.commandLine ?? context.commandLine
      context.container = context.container ?? state.container
    }
    return context
  }
}

/// Counts readings that wait, so that one that hangs makes the others of its user fail, not pile up.
final class WaitingReads: Sendable {
  static let shared = WaitingReads()

  /// The limit of an account.
  static let limit = 64
  private let counts = Mutex<[UInt32: Int]>([:])

  func begin(_ account: UInt32) -> Bool {
    counts.withLock { counts in
      guard counts[account, default: 0] < Self.limit else { return false }
      counts[account, default: 0] += 1
      return true
    }
  }

  func end(_ account: UInt32) {
    counts.withLock { counts in
      let left = counts[account, default: 1] - 1
      counts[account] = left > 0 ? left : nil
    }
  }
}
