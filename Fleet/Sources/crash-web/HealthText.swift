import CrashPages
import CrashProtocol

/// Describes crashd's health.
struct HealthText {
  var status: DaemonStatus
  var subscribers: [Subscriber]

  private typealias Fact = ServiceHealth.Fact
  private typealias Section = ServiceHealth.Section

  var health: ServiceHealth {
    let failures = status.trouble ?? []
    let lost = status.losses.values.reduce(0, &+)
    let losses = lost == 1 ? "1 part of a report was" : "\(lost) parts of reports were"
    let level: ServiceHealth.Level = !failures.isEmpty || (status.held ?? 0) > 0 ? .bad : lost > 0 ? .notice : .good
    let sentence =
      switch level {
      case .bad: failures.first ?? "The store does not accept reports; crashd holds them in memory."
      case .notice: "crashd runs; \(losses) lost since it started."
      case .good: "crashd runs, and lost nothing since it started."
      }
    return ServiceHealth(
      sentence: sentence, level: level,
      sections: [service, store, counters("Losses since the start", status.losses, .notice)]
        + [
          counters("Refusals since the start", status.refusals, nil),
          counters("Unwind cross-checks, threads", status.unwindings ?? [:], nil),
          counters("Debug information requests, builds", status.debugInformation ?? [:], nil), lags,
        ].filter { !$0.facts.isEmpty })
  }

  private var service: Section {
    var facts = [
      Fact("Version", status.version), Fact("Pid", "\(status.pid)"),
      Fact("Running for", Self.period(status.uptimeSeconds)),
      Fact("Attached processes", count: status.processes), Fact("Ending processes", count: status.ending),
    ]
    if let access = status.access {
      facts.append(
        Fact(
          "You see", access.all ? "the crashes of all users" : "the crashes of your own processes (uid \(access.uid))"))
    }
    return Section("crashd", facts)
  }

  private var store: Section {
    var facts = [
      Fact("Stored reports", count: status.reports), Fact("Size on disk", Self.mebibytes(status.storeBytes)),
    ]
    if let held = status.held { facts.append(Fact("Held in memory", count: held, held > 0 ? .bad : nil)) }
    if let spooled = status.spooled {
      facts.append(Fact("Waiting in the spool", count: spooled, spooled > 0 ? .notice : nil))
    }
    facts += (status.trouble ?? []).map { Fact("Failure", $0, .bad) }
    return Section("Store", facts)
  }

  private var lags: Section {
    Section(
      "Subscribers",
      subscribers.map { subscriber in
        let behind = subscriber.behind ?? 0
        return Fact(
          subscriber.name, behind == 0 ? "up to date" : "\(behind) behind, last heard \(subscriber.time)",
          behind > 100 ? .notice : nil)
      })
  }

  private func counters(_ title: String, _ counts: [String: Int], _ level: ServiceHealth.Level?) -> Section {
    let facts = counts.sorted { $0.key < $1.key }.filter { $0.value > 0 }.map { Fact($0.key, count: $0.value, level) }
    return Section(title, facts.isEmpty && level != nil ? [Fact("All", "none", .good)] : facts)
  }

  private static func period(_ seconds: Int) -> String {
    switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7_200: "\(seconds / 60) min"
    case ..<172_800: "\(seconds / 3_600) h"
    default: "\(seconds / 86_400) d"
    }
  }

  private static func mebibytes(_ bytes: Int) -> String {
    let tenths = Int((Double(bytes) / 104_857.6).rounded())
    return "\(tenths / 10).\(tenths % 10) MiB"
  }
}
