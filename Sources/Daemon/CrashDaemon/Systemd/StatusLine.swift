import CrashProtocol
import CrashStore
import LinuxSystem
import ServiceLifecycle
import Synchronization

/// Sends the status line that `systemctl status crashd` shows.
///
/// The line contains the numbers of processes and crashes, or states that the store fails.
///
/// crashd sends the line only after a change, and at most once per interval. Therefore, an idle crashd sends nothing.
final class StatusLine: Service {
  private struct State {
    var processes = 0
    var outage: String?
    var told = ""
  }

  private let notifier: Notifier
  private let store: ReportStore
  private let hub: EventHub
  private let interval_ms: Int
  private let state = Mutex(State())
  private let changes: AsyncStream<Void>
  private let changed: AsyncStream<Void>.Continuation

  /// If several changes occur within one interval, they are combined into one status line.
  init(notifier: Notifier, store: ReportStore, hub: EventHub, interval_ms: Int = 5_000) {
    self.notifier = notifier
    self.store = store
    self.hub = hub
    self.interval_ms = interval_ms
    (changes, changed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    changed.yield()
  }

  /// Sets the number of attached processes.
  func note(processes: Int) {
    state.withLock { $0.processes = processes }
    changed.yield()
  }

  /// Sets the reason why crashd cannot store reports; nil if the store works.
  func note(outage: String?) {
    state.withLock { $0.outage = outage }
    changed.yield()
  }

  func run() async throws {
    // Send nothing if systemd passed no notification socket, because in this case no program reads the status line.
    guard notifier.hasListener else { return try await gracefulShutdown() }
    await cancelWhenGracefulShutdown { await self.follow() }
  }

  private func follow() async {
    let (news, changed) = (hub.news(), changed)
    let forwarding = Task { for await _ in news { changed.yield() } }
    defer { forwarding.cancel() }
    for await _ in changes {
      tell()
      do { try await Task.sleep(for: .milliseconds(interval_ms)) } catch { return }
    }
  }

  private func tell() {
    let (processes, outage) = state.withLock { ($0.processes, $0.outage) }
    let text: String
    if let outage {
      text = "CANNOT STORE: \(outage.prefix(300))"
    } else {
      // If the count cannot be read, omit it from the line. The store keeper itself reports errors of the store.
      let count = try? store.count()
      text = Self.text(processes: processes, crashes: count, newest: (try? store.list(limit: 1))?.first?.time)
    }
    guard state.withLock({ $0.told }) != text else { return }
    // Sending does not block, even if systemd's queue is full. If systemd did not accept the line, crashd sends it
    // after the next change.
    if notifier.connection()?.send("STATUS=\(text)") == true { state.withLock { $0.told = text } }
  }

  /// Returns a line such as `12 processes attached, 3 crashes kept, newest 2026-11-23 14:02 UTC`.
  ///
  /// The line contains no relative times, because they would become wrong as time passes.
  static func text(processes: Int, crashes: Int?, newest: String?) -> String {
    let attached =
      switch processes {
      case 0: "No process attached"
      case 1: "1 process attached"
      default: "\(processes) processes attached"
      }
    guard let crashes else { return attached }
    guard crashes > 0 else { return attached + ", no crash kept" }
    let kept = attached + ", \(crashes) \(crashes == 1 ? "crash" : "crashes") kept"
    return newest.map { kept + ", newest \($0.prefix(16).replacing("T", with: " ")) UTC" } ?? kept
  }
}

/// Notifies systemd when crashd is ready and when crashd stops.
///
/// This service starts after almost all other services, and stops before almost all other services.
struct Readiness: Service {
  let notifier: Notifier

  func run() async throws {
    // `StatusLine` sends the notifications that contain a status text.
    notifier.send("READY=1")
    try await gracefulShutdown()
    // Sending does not block, and an error is ignored. A full queue, which occurs in tests, must not prevent crashd
    // from stopping.
    _ = notifier.connection()?.send("STOPPING=1\nSTATUS=Storing remaining reports")
  }
}
