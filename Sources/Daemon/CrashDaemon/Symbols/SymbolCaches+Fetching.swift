import CrashSymbols
import Glibc
import LinuxSystem
import Logging

/// The queue of requests to debuginfod servers.
///
/// crashd requests the debug information of only one build at a time.
struct FetchQueue {
  var waiting: [CacheName] = []
  var running: CacheName?
  /// The time of the last request for each build.
  var asked: [CacheName: UInt64] = [:]
  /// The number of requests with each outcome: `fetched`, `missing`, `failed` and `skipped`.
  var counts: [String: Int] = [:]
}

// Fetches debug information from debuginfod servers for images without debug information: images that contain none
// themselves and for which no debug file is installed. When a process attaches, crashd first builds the caches of its
// images, and then queries the servers. If the process crashes in the meantime, its report does not wait for the
// servers. The report has function names but no line numbers, until the line numbers arrive.
extension SymbolCaches {
  /// The number of requests to servers with each outcome since crashd started, and the number of builds that wait for a
  /// request.
  var fetches: [String: Int] {
    let waiting = queue.waiting.count + (queue.running == nil ? 0 : 1)
    return waiting == 0 ? queue.counts : queue.counts.merging(["waiting": waiting]) { $1 }
  }

  /// Requests the debug information of a build from the servers, if the build's cache lacks line numbers.
  func fetchDebugInformation(of name: CacheName) {
    guard isWorthAsking(name), case .ready(let cache, _) = entries[name], !cache.hasDebugInformation else { return }
    let limits = configuration.limits
    let now = Moment.monotonic_ns()
    if queue.asked.count >= limits.rememberedFetches {
      queue.asked = queue.asked.filter { now - $0.value < limits.fetchQuiet_ns }
    }
    guard queue.waiting.count < limits.waitingFetches, queue.asked.count < limits.rememberedFetches else {
      queue.counts["skipped", default: 0] += 1
      return
    }
    queue.asked[name] = now
    queue.waiting.append(name)
    startFetch()
  }

  /// Whether `fetchDebugInformation` would now request the debug information of the given build.
  ///
  /// Debug information is requested only for builds whose file was installed by root or crashd's user. Otherwise, a
  /// process without network access could encode data in invented build IDs, which crashd would send to the servers.
  func isWorthAsking(_ name: CacheName) -> Bool {
    guard configuration.servers != nil, name.owner == .allUsers else { return false }
    guard let last = queue.asked[name] else { return true }
    return !isFetched(name) && Moment.monotonic_ns() - last >= configuration.limits.fetchQuiet_ns
  }

  /// Whether a request for the debug information of the given build is running or queued.
  func isFetched(_ name: CacheName) -> Bool { queue.running == name || queue.waiting.contains(name) }

  private func startFetch() {
    guard queue.running == nil, !queue.waiting.isEmpty, let servers = configuration.servers,
      let program = configuration.program
    else { return }
    let name = queue.waiting.removeFirst()
    queue.running = name
    let job = FetchJob(
      servers: servers, analyseProgram: program, buildID: name.buildID,
      output: name.path(in: configuration.directory), limits: configuration.limits)
    do {
      try Thread.start(named: "fetch") { [self] in
        let result = Result { try job.run() }
        Task { await finishFetch(of: name, result) }
      }
    } catch {
      finishFetch(of: name, .failure(error))
    }
  }

  private func finishFetch(of name: CacheName, _ result: Result<Bool, any Error>) {
    queue.running = nil
    do {
      if try result.get() {
        try open(name)
        queue.counts["fetched", default: 0] += 1
        configuration.logger.info("a server has the debug information of build \(name.buildID)")
        prune()
      } else {
        queue.counts["missing", default: 0] += 1
        configuration.logger.debug("no server has the debug information of build \(name.buildID)")
      }
    } catch {
      queue.counts["failed", default: 0] += 1
      configuration.ledger.refuse(
        "debug information", from: Peer(pid: 0, uid: geteuid()), because: "of build \(name.buildID): \(error)")
    }
    tellFetched(name)
    startFetch()
  }
}

extension Limits {
  fileprivate var fetchQuiet_ns: UInt64 { UInt64(fetchAgain_ms) * 1_000_000 }
}
