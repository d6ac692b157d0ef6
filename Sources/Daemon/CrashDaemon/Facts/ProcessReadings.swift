import CLinux
import CrashReport
import LinuxSystem
import Synchronization

/// The last readings of a process that is there: the attach thread writes them, the pipeline reads them.
final class ProcessReadings: Sendable {
  private struct State {
    var resources: CrashReport.Resources?
    var crash_ns: UInt64?
    var commandLine: String?
    var container: CrashReport.Container?
  }

  private let state = Mutex(State())
  /// A process wakes crashd twice for one crash.
  private static let sameCrash_ns: UInt64 = 1_000_000_000

  /// Reads what the process uses now; keeps the last reading of one that ends meanwhile.
  /// - Parameters:
  ///   - facts: The process.
  ///   - pidfd: Its pidfd.
  ///   - isOfCrash: It stands in its crash handler.
  func measure(_ facts: ProcessFacts, _ pidfd: Descriptor, isOfCrash: Bool = false) {
    let now = Moment.monotonic_ns()
    guard state.withLock({ $0.crash_ns.map { now - $0 >= Self.sameCrash_ns } ?? true }) else { return }
    let found = ProcessFigures.resources(pid: facts.peer.pid, limit: facts.context.memoryLimit, time: Moment.now())
    // Checked afterwards: a process that still exists had its pid all the time. One that exits has no memory any more.
    guard cd_process_exists(pidfd.number), found.residentBytes != nil else { return }
    state.withLock { state in
      state.resources = found
      if isOfCrash { state.crash_ns = now }
    }
  }

  /// Reads the command line, and the container where the control groups do not name it, on a thread that may wait.
  ///
  /// The kernel reads the arguments from the memory of the process, and may wait for it or for a file mapped there.
  func readLater(_ facts: ProcessFacts, _ pidfd: Descriptor, _ privacy: PrivacySettings) {
    let (peer, needsContainer) = (facts.peer, facts.context.container == nil)
    guard WaitingReads.shared.begin(peer.uid) else { return }
    ForeignFileWork.shared.submit(of: peer.uid, at: "command lines") {
      defer { WaitingReads.shared.end(peer.uid) }
      let bytes = SmallFile.text(at: "/proc/\(peer.pid)/cmdline", limitBytes: CommandLine.readLimitBytes)
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
  func added(to context: ProcessContext) -> ProcessContext {
    var context = context
    state.withLock { state in
      context.resources = state.resources ?? context.resources
      context.commandLine = state.commandLine ?? context.commandLine
      context.container = context.container ?? state.container
    }
    return context
  }
}

/// Counts readings that wait, so that one that hangs makes the others of its user fail, not pile up.
private final class WaitingReads: Sendable {
  static let shared = WaitingReads()

  private static let limit = 64
  private let counts = Mutex<[UInt32: Int]>([:])

  func begin(_ user: UInt32) -> Bool {
    counts.withLock { counts in
      guard counts[user, default: 0] < Self.limit else { return false }
      counts[user, default: 0] += 1
      return true
    }
  }

  func end(_ user: UInt32) {
    counts.withLock { counts in
      let left = counts[user, default: 1] - 1
      counts[user] = left > 0 ? left : nil
    }
  }
}
