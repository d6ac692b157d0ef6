import CrashProtocol
import CrashRing
import CrashStore
import Synchronization

/// Builds the metrics of crashd.
extension CrashdInterface {
  static func bindMetrics(in table: inout HandlerTable) {
    table.bind(Methods.Metrics.self, CrashdInterface.metrics)
  }

  func metrics(_: NoParameters, _ client: Client) async throws(ProtocolError) -> Methods.Metrics.Reply {
    Methods.Metrics.Reply(text: try await metricsText(client.visibility))
  }

  /// A counter with the value 0 for every kind of loss.
  ///
  /// A counter must exist before the first loss. Otherwise, Prometheus would not show the first loss as an increase.
  private static let noLosses = Dictionary(
    (Losses.names + ["end", "hello", "policy", "ring", "spool", "store"]).map { ($0, 0) }, uniquingKeysWith: { $1 })

  /// Returns the figures of the method `Status` as metrics.
  ///
  /// Operators also receive the numbers of events that were forwarded to collectors. Other users receive only figures
  /// of their own processes. If the store cannot be read, an operator receives the metrics without the figures of the
  /// store, because the metric `crashd_trouble` must be available in this case.
  func metricsText(_ visibility: Visibility = .all) async throws(ProtocolError) -> String {
    var metrics = OpenMetrics()
    addBuild(to: &metrics)
    do throws(ProtocolError) { metrics = try withStored(metrics, visibility) } catch {
      guard visibility == .all else { throw error }
    }
    addDaemon(to: &metrics, visibility)
    addRequests(to: &metrics, visibility)
    if visibility == .all {
      await addTotals(to: &metrics)
      addForwards(to: &metrics)
    }
    return metrics.ended
  }

  /// Adds the metrics whose values come from the store.
  ///
  /// If reading the store fails, the method adds none of these metrics.
  private func withStored(_ metrics: OpenMetrics, _ visibility: Visibility) throws(ProtocolError) -> OpenMetrics {
    var metrics = metrics
    let (count, bytes) = try reading { () throws(StoreError) in
      (try store.count(visibility: visibility), try store.sizeBytes())
    }
    metrics.add("crashd_reports", .gauge, "Reports in the store.", count)
    if visibility == .all {
      metrics.add("crashd_store_bytes", .gauge, "Size of the database, in bytes.", bytes)
    }
    try addPrograms(to: &metrics, visibility)
    try addSubscribers(to: &metrics, visibility)
    return metrics
  }

  private func addDaemon(to metrics: inout OpenMetrics, _ visibility: Visibility) {
    let processes = pipeline.attached().filter { visibility.includes($0.facts.peer) }
    let ending = processes.count { $0.hasEnded.load(ordering: .acquiring) }
    metrics.add("crashd_up_seconds", .gauge, "Seconds since crashd started.", uptime_s)
    metrics.add(
      "crashd_processes", .gauge, "Processes with the shield: attached, or ended but not yet analyzed.", by: "state",
      ["attached": processes.count - ending, "ending": ending])
    metrics.add(
      "crashd_losses", .counter, "Parts of crashes that could not be recorded or read, by kind, since crashd started.",
      by: "kind", Self.noLosses.merging(losses(visibility)) { $1 })
    metrics.add(
      "crashd_refusals", .counter, "Connections, calls and input that crashd refused, by kind, since crashd started.",
      by: "kind", refusals(visibility))
  }

  /// Adds the metrics that are counted for all users together.
  private func addTotals(to metrics: inout OpenMetrics) async {
    metrics.add(
      "crashd_reports_held", .gauge, "Reports that wait in memory while the store fails.", outage.count)
    metrics.add(
      "crashd_trouble", .gauge, "Failures of the store that persist (see crashctl status).", outage.sentences.count)
    metrics.add(
      "crashd_reports_stored", .counter, "Reports written since crashd started, including rewritten reports.",
      ledger.stored)
    metrics.add(
      "crashd_reports_removed", .counter, "Reports that retention or an operator removed since crashd started.",
      by: "reason", ledger.removals)
    Self.addHelpers(to: &metrics, unwindings: await unwinder.findings, fetches: await caches.fetches)
  }

  /// Adds metrics about crashd's child processes, if any have run.
  static func addHelpers(to metrics: inout OpenMetrics, unwindings: [String: Int], fetches: [String: Int]) {
    metrics.add(
      "crashd_unwindings", .counter, "Crashed threads with an unwind cross-check, and skipped reports.",
      by: "outcome", unwindings)
    // The number of waiting builds is a gauge and not a counter, because it can decrease.
    var asked = fetches
    let waiting = asked.removeValue(forKey: "waiting")
    metrics.add(
      "crashd_debug_information", .counter, "Builds requested from debuginfod servers.",
      by: "outcome", asked)
    if let waiting {
      metrics.add("crashd_debug_information_waiting", .gauge, "Builds that wait to be requested from servers.", waiting)
    }
  }

  private func addForwards(to metrics: inout OpenMetrics) {
    let all = forwards.all
    metrics.add(
      "crashd_forward_connected", .gauge, "Whether the collector is connected.", by: "path",
      all.mapValues { $0.isConnected ? 1 : 0 })
    metrics.add(
      "crashd_forward_events", .counter, "Events delivered to the collector.", by: "path",
      all.mapValues(\.delivered))
    metrics.add(
      "crashd_forward_failures", .counter, "Connections that failed or broke.", by: "path",
      all.mapValues(\.failures))
    var behind: [String: Int] = [:]
    for subscriber in (try? store.subscribers()) ?? [] {
      let path = subscriber.name.dropFirst(ForwardSettings.subscriberPrefix.count)
      guard subscriber.name.hasPrefix(ForwardSettings.subscriberPrefix), all[String(path)] != nil else { continue }
      behind[String(path)] = subscriber.behind
    }
    metrics.add(
      "crashd_forward_behind", .gauge, "Events not yet delivered to the collector.", by: "path", behind)
  }
}
