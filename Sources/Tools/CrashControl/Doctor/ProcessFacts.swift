import Glibc

/// The facts that `crashctl doctor` reads about a process from `/proc`.
struct ProcessFacts {
  /// The target of the link `/proc/PID/exe`, with " (deleted)" if the file was removed, or nil if the link is not
  /// readable.
  var executable: String?
  /// A path that opens the executable even if its file was replaced.
  var executablePath: String
  private var name: String
  private var uid: Int?
  /// The signals that have a handler, as a bit set whose lowest bit is for signal 1; nil if unknown.
  private var caught: UInt64?
  private var ignored: UInt64?
  private var environment: [String]?
  private var coreLimit: String?
  private var hasRing: Bool?

  /// Whether the process is known to have started the shield.
  var hasShield: Bool { hasRing == true }

  /// The crash signals: the signals that the shield handles.
  static let signals: [(number: Int32, name: String)] = [
    (SIGILL, "SIGILL"), (SIGTRAP, "SIGTRAP"), (SIGABRT, "SIGABRT"), (SIGBUS, "SIGBUS"), (SIGFPE, "SIGFPE"),
    (SIGSEGV, "SIGSEGV"), (SIGSYS, "SIGSYS"),
  ]

  /// Fails if the process does not exist.
  init?(pid: Int, system: String) {
    let directory = "\(system)/\(pid)"
    guard let status = SmallText.read("\(directory)/status") else { return nil }
    let fields = Dictionary(
      status.split(separator: "\n").compactMap { line -> (Substring, String)? in
        guard let colon = line.firstIndex(of: ":") else { return nil }
        return (line[..<colon], line[line.index(after: colon)...].trimmed)
      }, uniquingKeysWith: { first, _ in first })
    name = fields["Name"] ?? ""
    uid = fields["Uid"]?.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) }
    caught = fields["SigCgt"].flatMap { UInt64($0, radix: 16) }
    ignored = fields["SigIgn"].flatMap { UInt64($0, radix: 16) }
    executablePath = "\(directory)/exe"
    executable = SmallText.link(executablePath)
    environment = SmallText.read("\(directory)/environ", limitBytes: 1 << 20)?.split(separator: "\0").map(String.init)
    coreLimit = SmallText.read("\(directory)/limits")?.split(separator: "\n")
      .first { $0.hasPrefix("Max core file size") }?.split(whereSeparator: \.isWhitespace).dropFirst(4).first.map(
        String.init)
    hasRing = SmallText.read("\(directory)/maps", limitBytes: 16 << 20)?.contains("/memfd:crash-shield")
  }

  /// Returns the findings about this process.
  ///
  /// `isAttached` is nil if crashd does not answer.
  func findings(isAttached: Bool?) -> [Finding] {
    [Finding(.note, "process", "'\(name)', user \(uid.map(String.init) ?? "unknown")")]
      + [attachment(isAttached), handlers(), alternateStacks(), backtracer(), cores()].compactMap { $0 }
  }

  private func attachment(_ isAttached: Bool?) -> Finding {
    if isAttached == true { return Finding(.good, "shield", "the process is attached to crashd") }
    switch hasRing {
    case true?:
      return Finding(
        .warning, "shield",
        "the shield is started, but not attached to this crashd: crashes go to the spool",
        remedy: "see Configuration.onStatusChange in the process, and refusals in crashctl status")
    case false?:
      return Finding(
        .fault, "shield", "the shield is not started: crashes will not be captured",
        remedy: isDisabled
          ? "remove CRASHSHIELD_DISABLE from the environment of the process"
          : "call Shield.start(), or preload libcrashshield.so; if the program calls Shield.start(), see "
            + "Shield.status.startError in the process")
    case nil:
      let who =
        geteuid() == 0 ? "as root of the host, with the capability CAP_SYS_PTRACE" : "as the process's user, or as root"
      return Finding(
        .unknown, "shield",
        "whether the shield is started is not visible: the memory map of the process is not readable",
        remedy: "run crashctl \(who)")
    }
  }

  private var isDisabled: Bool { variable("CRASHSHIELD_DISABLE").map { $0 != "0" } ?? false }

  /// Returns the value of an environment variable at the start of the process; nil if it was missing or empty, or is
  /// not readable.
  func variable(_ name: String) -> String? {
    let prefix = name + "="
    guard let setting = environment?.first(where: { $0.hasPrefix(prefix) }), setting != prefix else { return nil }
    return String(setting.dropFirst(prefix.count))
  }

  private func handlers() -> Finding? {
    guard let caught, let ignored, hasRing == true else { return nil }
    func names(_ mask: UInt64) -> [String] {
      Self.signals.filter { mask >> UInt64($0.number - 1) & 1 == 1 }.map(\.name)
    }
    let missing = names(~caught)
    // `LastCrashFacts` checks whether these signal handlers are the shield's.
    if missing.isEmpty { return Finding(.good, "handlers", "every crash signal has a handler") }
    let which = missing.joined(separator: ", ")
    let how =
      names(ignored).isEmpty ? "have no handler" : "have no handler, \(names(ignored).joined(separator: ", ")) ignored"
    return Finding(
      .fault, "handlers", "\(which) \(how): such crashes are not captured",
      remedy: "code in the process removed the shield's handlers after Shield.start()")
  }

  /// Reports whether the environment of the process shows that its threads have alternate signal stacks.
  ///
  /// The environment is the only evidence, because the kernel reports an alternate signal stack only to the thread that
  /// has it.
  private func alternateStacks() -> Finding? {
    guard hasRing == true else { return nil }
    if environment?.contains("CRASHSHIELD_ALTSTACKS=0") == true {
      return Finding(
        .warning, "altstacks", "CRASHSHIELD_ALTSTACKS=0: a stack overflow on most threads leaves no report",
        remedy: "remove it from the environment")
    }
    return Finding(
      .note, "altstacks",
      "threads created after Shield.start() have an alternate stack; for earlier threads, this is not visible from "
        + "outside")
  }

  /// Checks whether Swift's own backtracer is on.
  ///
  /// After a crash, the backtracer runs for seconds. During this time, the crashed process does not end and does not
  /// serve requests.
  private func backtracer() -> Finding? {
    guard
      let value = variable("SWIFT_BACKTRACE"),
      value.split(separator: ",").contains(where: { $0 == "enable=yes" || $0 == "enable=on" || $0 == "enable=true" })
    else { return nil }
    return Finding(
      .warning, "backtracer", "SWIFT_BACKTRACE is on: Swift's backtracer runs after the report, and takes seconds",
      remedy: "SWIFT_BACKTRACE=enable=no ends a crashed process at once")
  }

  private func cores() -> Finding? {
    guard let coreLimit else { return nil }
    return Finding(.note, "cores", coreLimit == "0" ? "none are written (limit 0)" : "the limit is \(coreLimit)")
  }
}

extension Substring {
  fileprivate var trimmed: String {
    let start = self.drop { $0.isWhitespace }
    return String(start.reversed().drop { $0.isWhitespace }.reversed())
  }
}
