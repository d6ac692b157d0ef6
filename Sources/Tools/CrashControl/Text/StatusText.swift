public import CrashProtocol
internal import CrashReport

/// Formats crashd's health: a verdict, then the facts behind it.
public enum StatusText: Sendable {
  /// The verdict: the word at the beginning of the output.
  enum Verdict: String {
    /// crashd works, and has lost nothing since it started.
    case ok = "OK"
    /// crashd works, but something was lost since it started.
    case incomplete = "INCOMPLETE"
    /// crashd currently fails to do part of its work.
    case degraded = "DEGRADED"

    init(_ status: DaemonStatus) {
      let isFailing = !(status.trouble ?? []).isEmpty || (status.held ?? 0) > 0
      self = isFailing ? .degraded : status.losses.contains { $0.value > 0 } ? .incomplete : .ok
    }

    var sentence: String {
      switch self {
      case .ok: "crashd works, and lost nothing since it started"
      case .incomplete: "crashd works; since it started, something was lost"
      case .degraded: "crashd cannot store reports as it should"
      }
    }

    var style: Terminal.Style { self == .degraded ? .red : .bold }
  }

  /// Returns the verdict, and one line per fact.
  ///
  /// `verbose` adds crashd's internal counters.
  public static func text(
    _ status: DaemonStatus, socketPath: String, terminal: Terminal, verbose: Bool = false
  ) -> String {
    let verdict = Verdict(status)
    let head = terminal.styled(verdict.rawValue, verdict.style) + ": \(verdict.sentence)"
    var facts: [(title: String, text: String, style: Terminal.Style?)] = []
    let add = { (title: String, text: String, style: Terminal.Style?) in facts.append((title, text, style)) }
    add("crashd", "\(status.version), process \(status.pid), up \(Listings.duration(status.uptimeSeconds))", nil)
    add("socket", socketPath, nil)
    add("processes", Listings.processes(status), nil)
    let bytes = status.storeBytes > 0 ? ", " + Listings.size(status.storeBytes) : ""
    add("reports", "\(Listings.grouped(status.reports)) stored\(bytes)", nil)
    if let access = status.access { add("access", AccessText.sentence(access), nil) }
    for sentence in status.trouble ?? [] { add("store", sentence, .red) }
    if let held = status.held, held > 0 {
      add("waiting", "\(Listings.grouped(held)) reports, in memory, until the store accepts them", .red)
    }
    if let spooled = status.spooled, spooled > 0 { add("spool", "\(Listings.grouped(spooled)) files wait", nil) }
    let losses = LossText.sentences(status.losses)
    for (index, sentence) in losses.enumerated() { add(index == 0 ? "losses" : "", sentence, .red) }
    if losses.isEmpty { add("losses", "none", nil) }
    let refusals = Listings.counts(status.refusals)
    if verbose || refusals != "none" { add("refusals", refusals, nil) }
    if verbose {
      add("counters", Listings.counts(status.losses), nil)
      if let unwindings = status.unwindings { add("unwindings", Listings.counts(unwindings), nil) }
      if let fetches = status.debugInformation { add("debug info", Listings.counts(fetches), nil) }
    }
    return Prose.wrapped(head, terminal, indent: 2) + "\n" + Prose.facts(facts, terminal)
  }
}
