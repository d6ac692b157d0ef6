import Glibc

/// What `/proc` shows of a process.
struct ProcessFacts {
  /// As the link says, with " (deleted)" where the file has gone; nil when it may not be read.
  var executable: String?
  /// A way to the file also where it has been replaced.
  var executablePath: String
  private var name: String
  private var uid: Int?
  /// A bit for each signal, the lowest for signal 1; nil when unknown.
  private var caught: UInt64?
  private var ignored: UInt64?
  private var environment: [String]?
  private var coreLimit: String?
  private var hasRing: Bool?

  /// Whether it is known to have started the shield.
  var hasShield: Bool { hasRing == true }

  /// Signals that a crash comes by, as the shield's handlers take them.
  static let signals: [(number: Int32, name: String)] = [
    (SIGILL, "SIGILL"), (SIGTRAP, "SIGTRAP"), (SIGABRT, "SIGABRT"), (SIGBUS, "SIGBUS"), (SIGFPE, "SIGFPE"),
    (SIGSEGV, "SIGSEGV"), (SIGSYS, "SIGSYS"),
  ]

  /// Nil: there is no such process.
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

  /// `isAttached` is nil when crashd was not there to be asked.
  func findings(isAttached: Bool?) -> [Finding] {
    [Finding(.note, "process", "'\(name)', user \(uid.map(String.init) ?? "unknown")")]
      + [attachment(isAttached), handlers(), alternateStacks(), backtracer(), cores()].compactMap { $0 }
  }

  private func attachment(_ isAttached: Bool?) -> Finding {
    if isAttached == true { return Finding(.good, "shield", "it is attached to crashd") }
    switch hasRing {
    case true?:
      return Finding(
        .warning, "shield",
        "it has started the shield, and is not attached to this crashd: its crashes go to the spool",
        remedy: "look at Configuration.onConnectionChange in the process, and at refusals in crashctl status")
    case false?:
      return Finding(
        .fault, "shield", "it has not started the shield: its crashes will not be captured",
        remedy: "call Shield.start(), or preload libcrashshield.so")
    case nil:
      return Finding(
        .note, "shield", "whether it has started the shield cannot be seen", remedy: "ask as its user, or as root")
    }
  }

  private func handlers() -> Finding? {
    guard let caught, let ignored, hasRing == true else { return nil }
    func names(_ mask: UInt64) -> [String] {
      Self.signals.filter { mask >> UInt64($0.number - 1) & 1 == 1 }.map(\.name)
    }
    let missing = names(~caught)
    // Not whose: that is the business of HandlerFacts.
    if missing.isEmpty { return Finding(.good, "handlers", "every signal of a crash has a handler") }
    let which = missing.joined(separator: ", ")
    let how =
      names(ignored).isEmpty ? "have no handler" : "have no handler, \(names(ignored).joined(separator: ", ")) ignored"
    return Finding(
      .fault, "handlers", "\(which) \(how): such crashes are not seen",
      remedy: "something in the process took the shield's handlers away after Shield.start()")
  }

  /// The kernel shows a thread's alternate stack to that thread alone.
  private func alternateStacks() -> Finding? {
    guard hasRing == true else { return nil }
    if environment?.contains("CRASHSHIELD_ALTSTACKS=0") == true {
      return Finding(
        .warning, "altstacks", "CRASHSHIELD_ALTSTACKS=0: a stack overflow on most threads leaves no report",
        remedy: "take it out of the environment")
    }
    return Finding(
      .note, "altstacks",
      "which threads have an alternate stack cannot be seen from outside: those made after Shield.start() do; "
        + "crash-maker stack-overflow shows one at work")
  }

  /// Swift's own takes seconds, in which the process serves no request and does not end.
  private func backtracer() -> Finding? {
    guard let setting = environment?.first(where: { $0.hasPrefix("SWIFT_BACKTRACE=") }) else { return nil }
    let value = setting.dropFirst("SWIFT_BACKTRACE=".count)
    guard
      value.split(separator: ",").contains(where: { $0 == "enable=yes" || $0 == "enable=on" || $0 == "enable=true" })
    else { return nil }
    return Finding(
      .warning, "backtracer", "SWIFT_BACKTRACE is on: Swift's own runs after the report, and takes seconds",
      remedy: "SWIFT_BACKTRACE=enable=no ends a crashed process at once")
  }

  private func cores() -> Finding? {
    guard let coreLimit else { return nil }
    return Finding(.note, "cores", coreLimit == "0" ? "none are written (its limit is 0)" : "its limit is \(coreLimit)")
  }
}

extension Substring {
  fileprivate var trimmed: String {
    let start = self.drop { $0.isWhitespace }
    return String(start.reversed().drop { $0.isWhitespace }.reversed())
  }
}
