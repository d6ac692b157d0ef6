public import CrashClient
import CrashProtocol
import CrashReport
public import CrashShieldGuards
import Glibc
internal import LinuxSystem

/// Checks that crashes will be captured and that reports will be complete.
///
/// The checks only read crashd's replies, `/proc` and the files of programs.
public struct Doctor: Sendable {
  private let client: CrashClient
  private let system: String
  private let guards: [ShieldCheck.Result]?
  private let clock: Clock

  /// Creates a doctor.
  ///
  /// `system` is the path at which procfs is mounted, `/proc`. `guards` is the result of this process's guard
  /// self-test, if the self-test ran.
  public init(
    client: CrashClient, system: String = "/proc", guards: [ShieldCheck.Result]? = nil, clock: Clock = Clock()
  ) {
    self.client = client
    self.system = system
    self.guards = guards
    self.clock = clock
  }

  /// Checks the machine and the crashd that the client is connected to.
  public func machine() -> [Finding] {
    var findings: [Finding] = []
    do throws(ClientError) {
      let status = try client.status()
      findings.append(
        Finding(
          .good, "crashd",
          "version \(status.version), process \(status.pid); processes: \(Listings.processes(status))"))
      findings += rights(status) + store(status) + losses(status)
      findings += Self.namespaces(of: try client.processes())
    } catch {
      findings.append(
        Finding(
          .fault, "crashd", Failure(error).message,
          remedy: "start crashd; until then, a process keeps its crashes only if it can write to the spool directory"))
    }
    return findings + [attachSocket(), spool(), corePattern()] + (guards.map { [GuardFacts.finding(of: $0)] } ?? [])
  }

  /// Checks one process, whether or not it is attached.
  ///
  /// Returns nil if the process does not exist.
  public func process(_ pid: Int) -> [Finding]? {
    guard let facts = ProcessFacts(pid: pid, system: system) else { return nil }
    var attached: Bool?
    var own: [Finding] = []
    if let processes = try? client.processes() {
      let known = processes.filter { $0.pid == pid }
      attached = !known.isEmpty
      own =
        known.last.map { process in
          [
            Self.memory(of: process),
            Self.containment(of: process, variable: facts.variable("CRASHSHIELD_CONTAINMENT")),
            GuardFacts.finding(of: process.selfTest, clock: clock),
          ].compactMap(\.self)
        } ?? []
    }
    let image = facts.executable.map { program($0, at: facts.executablePath) } ?? []
    let crash = facts.hasShield ? LastCrashFacts(executable: facts.executable, client: client) : nil
    return facts.findings(isAttached: attached) + [crash?.handlers, crash?.requests].compactMap(\.self) + own + image
  }

  /// Returns a finding if crash reports of the process do not contain memory contents.
  ///
  /// Returns nil if the reports contain memory contents, or if crashd does not report whether they do.
  static func memory(of process: ProcessSummary) -> Finding? {
    switch process.memory {
    case .nothing: Finding(.note, "memory", "reports contain no memory: the program disabled it")
    case .withheld: Finding(.note, "memory", "reports contain no memory: crashd's privacy.no-memory")
    case .discarded:
      Finding(
        .note, "memory", "reports contain no memory (crashd's privacy.no-memory), but rings in the spool do",
        remedy: "set CRASHSHIELD_MEMORY=none in the environment of the process, which ignores crashd's setting")
    default: nil
    }
  }

  /// Reports whether containment handles a Swift trap in the process, and if it cannot, the reason.
  ///
  /// `variable` is the process's `CRASHSHIELD_CONTAINMENT`. The shield ignores the variable if its value is invalid.
  static func containment(of process: ProcessSummary, variable: String? = nil) -> Finding {
    guard let containment = process.containment else {
      if let variable, variable != "off" {
        return Finding(
          .warning, "containment", "off, because CRASHSHIELD_CONTAINMENT is '\(variable)', which the shield ignores",
          remedy: "set it to off, drain or contain:N, with a budget N of 1 to 200")
      }
      return Finding(.note, "containment", "off: a Swift trap ends the process at once")
    }
    if let obstacle = containment.obstacle {
      return Finding(
        .warning, "containment",
        "the program chose \(containment.mode), but a trap ends the process at once: \(obstacle.clause)",
        remedy: obstacle.remedy ?? "see Shield.status in the process")
    }
    if containment.isDraining {
      return Finding(.warning, "containment", "the process is draining after a trap, and will end")
    }
    guard containment.mode == .contain else {
      return Finding(.good, "containment", "\(containment.mode): after a trap, the other requests finish")
    }
    let (used, budget) = (containment.contained, containment.budget)
    return Finding(
      used < budget ? .good : .note, "containment",
      "contain: \(used) of \(budget) traps contained; a trap beyond them drains the process")
  }

  /// Checks the file of a program or library.
  ///
  /// `name` is the file's name in the findings.
  public func program(_ name: String, at path: String? = nil) -> [Finding] {
    guard let image = ImageFacts(path: path ?? name) else {
      return [Finding(.fault, "program", "'\(name)' is not a readable 64-bit ELF file")]
    }
    return image.findings(of: name)
  }

  // MARK: The machine

  /// Reports the caller's access to crashes.
  private func rights(_ status: DaemonStatus) -> [Finding] {
    guard let access = status.access else { return [] }
    return [Finding(access.all ? .good : .note, "access", AccessText.sentence(access))]
  }

  /// Reports the attached processes that are outside crashd's pid namespace.
  static func namespaces(of processes: [ProcessSummary]) -> [Finding] {
    let foreign = processes.filter { $0.isPIDClaimed == true }
    guard let first = foreign.first else { return [] }
    let others = foreign.count == 1 ? "" : " and \(foreign.count - 1) more"
    return [
      Finding(
        .warning, "pid namespace",
        "'\(first.name)'\(others) attached from another pid namespace: reports lack exit status, command line, control "
          + "group and resources",
        remedy: "in Kubernetes, set hostPID: true (DaemonSet) or shareProcessNamespace: true (sidecar)")
    ]
  }

  private func store(_ status: DaemonStatus) -> [Finding] {
    var findings = (status.trouble ?? []).map { Finding(.fault, "store", $0, remedy: "see crashd's log") }
    if let held = status.held, held > 0 {
      findings.append(Finding(.warning, "store", "\(held) reports wait in memory because the store accepts no reports"))
    }
    return findings.isEmpty ? [Finding(.good, "store", "\(status.reports) reports")] : findings
  }

  private func losses(_ status: DaemonStatus) -> [Finding] {
    let lost = LossText.sentences(status.losses)
    if lost.isEmpty { return [Finding(.good, "losses", "none since crashd started")] }
    return lost.map { Finding(.warning, "losses", "since crashd started: \($0)") }
  }

  /// The directory of the client socket.
  private var directory: Substring { client.socketPath.lastIndex(of: "/").map { client.socketPath[..<$0] } ?? "." }

  /// Checks the spool directory, into which crashing processes write their crash records while crashd is not running.
  private func spool() -> Finding {
    let path = "\(directory)/spool"
    let what = "crashes while crashd is not running"
    var status = stat()
    // Invariant: stat fills in the structure, and stat and access read the path only during the call.
    guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      return Finding(
        .fault, "spool", "there is no directory '\(path)': \(what) are lost", remedy: "crashd creates it when it starts"
      )
    }
    guard unsafe access(path, W_OK | X_OK) == 0 else {
      return Finding(
        .fault, "spool", "a process of this user cannot write into '\(path)': \(what) are lost",
        remedy: "crashd sets the mode 1733 when it starts")
    }
    // Ignore the set-group-id bit, which the package sets for this directory.
    guard status.st_mode & 0o1777 == 0o1733 else {
      return Finding(
        .warning, "spool",
        "'\(path)' has the mode \(String(status.st_mode & 0o7777, radix: 8)), not 1733: other users can read or "
          + "remove crashes in the spool, or cannot write", remedy: "crashd corrects it when it starts")
    }
    return Finding(.good, "spool", "\(what) can wait in '\(path)'")
  }

  /// Checks the attach socket, at which processes register.
  ///
  /// The attach socket is in the directory of the client socket.
  private func attachSocket() -> Finding {
    let path = "\(directory)/attach"
    // Invariant: access reads the path only during the call.
    guard unsafe access(path, W_OK) == 0 else {
      let number = errno
      return Finding(
        .fault, "attach socket", "a process of this user cannot attach at '\(path)': \(SystemError.text(number))",
        remedy: number == EACCES ? "see the group of crashd.socket" : "start crashd.socket")
    }
    return Finding(.good, "attach socket", "processes of this user can attach at '\(path)'")
  }

  /// Reports where the kernel writes core dumps.
  ///
  /// crashd does not change this setting of the kernel.
  private func corePattern() -> Finding {
    let path = "\(system)/sys/kernel/core_pattern"
    guard let pattern = SmallText.read(path)?.split(separator: "\n").first else {
      return Finding(.note, "cores", "'\(path)' cannot be read")
    }
    return Finding(
      .note, "cores",
      pattern.hasPrefix("|")
        ? "the kernel passes core dumps to '\(pattern.dropFirst())'"
        : "the kernel writes core dumps as '\(pattern)' (core_pattern)")
  }
}
