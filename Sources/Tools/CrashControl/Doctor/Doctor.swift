public import CrashClient
import CrashProtocol
public import CrashShieldGuards
import Glibc
internal import LinuxSystem

/// Looks whether crashes would be seen, and whether their reports would say all that they can.
///
/// It changes nothing, and asks only crashd, `/proc` and the files of programs.
public struct Doctor: Sendable {
  private let client: CrashClient
  private let system: String
  private let guards: [ShieldCheck.Result]?

  /// Makes one; `system` is where `/proc` is, `guards` what asking those of this process found, if they were asked.
  public init(client: CrashClient, system: String = "/proc", guards: [ShieldCheck.Result]? = nil) {
    self.client = client
    self.system = system
    self.guards = guards
  }

  /// The machine, and the crashd that the client speaks to.
  public func machine() -> [Finding] {
    var findings: [Finding] = []
    do throws(ClientError) {
      let status = try client.status()
      findings.append(
        Finding(
          .good, "crashd",
          "version \(status.version), process \(status.pid); processes: \(Listings.processes(status))"))
      findings += rights(status) + store(status) + losses(status)
    } catch {
      findings.append(
        Finding(.fault, "crashd", Failure(error).message, remedy: "crashes go to the spool until there is one"))
    }
    return findings + [attachSocket(), spool(), corePattern()] + (guards.map { [GuardFacts.finding(of: $0)] } ?? [])
  }

  /// One process, which need not be attached.
  ///
  /// Nil: there is none.
  public func process(_ pid: Int) -> [Finding]? {
    guard let facts = ProcessFacts(pid: pid, system: system) else { return nil }
    var attached: Bool?
    var own: [Finding] = []
    if let processes = try? client.processes() {
      let known = processes.filter { $0.pid == pid }
      attached = !known.isEmpty
      own = known.last.map { [Self.memory(of: $0), GuardFacts.finding(of: $0.selfTest)].compactMap(\.self) } ?? []
    }
    let image = facts.executable.map { program($0, at: facts.executablePath) } ?? []
    let handlers = facts.hasShield ? [HandlerFacts(executable: facts.executable, client: client).finding] : []
    return facts.findings(isAttached: attached) + handlers + own + image
  }

  /// Whether reports of a process lack its memory; nil: they do not, or it is unknown.
  static func memory(of process: ProcessSummary) -> Finding? {
    switch process.memory {
    case .nothing: Finding(.note, "memory", "reports keep nothing of it: the program has switched it off")
    case .withheld: Finding(.note, "memory", "reports keep nothing of it: crashd's privacy.no-memory")
    case .discarded:
      Finding(
        .note, "memory", "reports keep nothing of it: crashd's privacy.no-memory; a ring in the spool would",
        remedy: "CRASHSHIELD_MEMORY=none in its environment: it does not do what crashd says")
    default: nil
    }
  }

  /// The file of a program or library, shown as `name`.
  public func program(_ name: String, at path: String? = nil) -> [Finding] {
    guard let image = ImageFacts(path: path ?? name) else {
      return [Finding(.fault, "program", "'\(name)' is no ELF file of 64 bits that can be read")]
    }
    return image.findings(of: name)
  }

  // MARK: The machine

  /// Whose crashes crashd shows to the caller.
  private func rights(_ status: DaemonStatus) -> [Finding] {
    guard let access = status.access else { return [] }
    return [Finding(access.all ? .good : .note, "access", AccessText.sentence(access))]
  }

  private func store(_ status: DaemonStatus) -> [Finding] {
    var findings = (status.trouble ?? []).map { Finding(.fault, "store", $0, remedy: "look at crashd's log") }
    if let held = status.held, held > 0 {
      findings.append(Finding(.warning, "store", "\(held) reports wait in memory because the store takes none"))
    }
    return findings.isEmpty ? [Finding(.good, "store", "\(status.reports) reports")] : findings
  }

  private func losses(_ status: DaemonStatus) -> [Finding] {
    let lost = status.losses.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
    if lost.isEmpty { return [Finding(.good, "losses", "none since crashd started")] }
    return [
      Finding(
        .warning, "losses", "since crashd started: \(lost.joined(separator: ", "))",
        remedy: "crashctl status says what was refused or could not be kept")
    ]
  }

  /// That of the socket of the clients.
  private var directory: Substring { client.socketPath.lastIndex(of: "/").map { client.socketPath[..<$0] } ?? "." }

  /// Where crashes wait for a crashd that is not there.
  private func spool() -> Finding {
    let path = "\(directory)/spool"
    let what = "crashes while crashd is away"
    var status = stat()
    // It fills the struct that it is given; the paths are read during the calls only.
    guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      return Finding(
        .fault, "spool", "there is no directory '\(path)': \(what) are lost", remedy: "crashd makes it when it starts")
    }
    guard unsafe access(path, W_OK | X_OK) == 0 else {
      return Finding(
        .fault, "spool", "a process of this user cannot write into '\(path)': \(what) are lost",
        remedy: "crashd gives it the mode 1733 when it starts")
    }
    // The set-group-id bit is the package's.
    guard status.st_mode & 0o1777 == 0o1733 else {
      return Finding(
        .warning, "spool",
        "'\(path)' has the mode \(String(status.st_mode & 0o7777, radix: 8)), not 1733: others can read or remove what "
          + "waits there, or cannot write", remedy: "crashd puts it right when it starts")
    }
    return Finding(.good, "spool", "\(what) can wait in '\(path)'")
  }

  /// Where processes register: beside the socket of the clients.
  private func attachSocket() -> Finding {
    let path = "\(directory)/attach"
    // The path is read during the call only.
    guard unsafe access(path, W_OK) == 0 else {
      let number = errno
      return Finding(
        .fault, "attach socket", "a process of this user cannot attach at '\(path)': \(SystemError.text(number))",
        remedy: number == EACCES ? "see the group of crashd.socket" : "start crashd.socket")
    }
    return Finding(.good, "attach socket", "processes of this user can attach at '\(path)'")
  }

  /// What the kernel does with cores goes on as without crashd.
  private func corePattern() -> Finding {
    let path = "\(system)/sys/kernel/core_pattern"
    guard let pattern = SmallText.read(path)?.split(separator: "\n").first else {
      return Finding(.note, "cores", "'\(path)' cannot be read")
    }
    return Finding(
      .note, "cores",
      pattern.hasPrefix("|")
        ? "the kernel gives cores to '\(pattern.dropFirst())'" : "the kernel calls cores '\(pattern)'")
  }
}
