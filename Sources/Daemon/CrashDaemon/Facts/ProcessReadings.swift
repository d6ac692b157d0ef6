import CLinux
import CrashReport
import LinuxSystem
import Synchronization

/// The latest readings of the resource usage of an attached process.
///
/// The attach thread writes the readings, and the pipeline reads them.
final class ProcessReadings: Sendable {
  private struct State {
    /// The result of the last reading.
    var resources: CrashReport.Resources?
    /// The reading that crashd made at the last crash of the process.
    var ofCrash: CrashReport.Resources?
    /// The time at which crashd last tried to make a reading because of a crash.
    var tried_ns: UInt64?
    /// Whether the reads that can block (see `readLater`) are complete or queued.
    var hasSlowRead = false
    var commandLine: String?
    var container: CrashReport.Container?
  }

  private let state = Mutex(State())
  /// The time within which several wake-ups (messages that announce a record) are treated as one crash, because a
  /// process wakes crashd twice for one crash.
  ///
  /// Because of this time, a process that sends wake-ups continuously causes only one reading per second.
  private static let sameCrash_ns: UInt64 = 1_000_000_000

  /// Reads the current resource usage of a process.
  ///
  /// If the process ends during the call, the previous reading is kept.
  /// - Parameters:
  ///   - facts: The facts about the process.
  ///   - pidfd: The pidfd of the process.
  ///   - isOfCrash: Whether the process is in its crash handler.
  /// - Returns: The result is false if the last reading at a crash is less than one second old. In this case, the
  ///   function reads nothing.
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
    // Check after the read that the process still exists. If the process exists, the pid belonged to this process
    // during the whole read. An exiting process has already released its memory, so the reading is not used.
    guard cd_process_exists(pidfd.number), found.residentBytes != nil else { return true }
    state.withLock { state in
      state.resources = found
      if isOfCrash { state.ofCrash = found }
    }
    return true
  }

  /// Reads the command line, and the container and the pod if the names of the control groups do not contain them.
  ///
  /// The reads run on a separate thread, because they can block. To read the arguments, the kernel reads the memory of
  /// the process. The kernel can wait for the process, or for a file that the process has mapped. The files in `/proc`
  /// are read once for each process. If too many reads of the account are already queued, the function reads nothing,
  /// and a later call tries again.
  /// - Parameters:
  ///   - facts: The facts about the process.
  ///   - pidfd: The pidfd of the process.
  ///   - account: The account whose limits apply to the process.
  ///   - privacy: The current privacy rules.
  ///   - waiting: Counts the queued reads of each account.
  func readLater(
    _ facts: ProcessFacts, _ pidfd: Descriptor, of account: UInt32, _ privacy: PrivacySettings,
    waiting: WaitingReads = .shared
  ) {
    let (peer, container) = (facts.peer, facts.context.container)
    let needsContainer = container?.id == nil || container?.podUID == nil
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
      // crashd checked the privacy rules when the settings were read. If the rules are invalid nevertheless, drop the
      // command line, because the command line can contain secrets.
      let text = (try? TextScrubber(privacy)).flatMap { scrubber in
        bytes.flatMap { CommandLine.text($0, scrubbedBy: scrubber) }
      }
      self.state.withLock { ($0.commandLine, $0.container) = (text, mounts.flatMap(ContainerName.of(mounts:))) }
    }
  }

  private static let mountBytes = 65_536

  /// Adds the readings to the context that crashd read when the process attached.
  /// - Parameters:
  ///   - context: The context from the time of the attach.
  ///   - isOfCrash: Whether to prefer the reading at the last crash to the latest reading.
  /// - Returns: The context, with the readings.
  func added(to context: ProcessContext, isOfCrash: Bool = true) -> ProcessContext {
    var context = context
    state.withLock { state in
      context.resources = (isOfCrash ? state.ofCrash : nil) ?? state.resources ?? context.resources
      context.commandLine = state.commandLine ?? context.commandLine
      context.container = context.container.map { $0.added(to: state.container) } ?? state.container
    }
    return context
  }
}

/// Counts the queued reads of each account.
///
/// One read that blocks delays the later reads of the same account. Without a limit, the queue would then grow without
/// bound.
final class WaitingReads: Sendable {
  static let shared = WaitingReads()

  /// The maximum number of queued reads of one account.
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
