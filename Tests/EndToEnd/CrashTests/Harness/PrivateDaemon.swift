import CrashClient
import CrashProtocol
import CrashReport
import Glibc
import TestKit

/// A crashd of a test's own, in a directory of its own.
final class PrivateDaemon: Sendable {
  /// Where it runs; outlives the daemon, so that another one can be started in the same place.
  let place: Place
  let process: ChildProcess

  /// The directories of a daemon that may not run yet.
  final class Place: Sendable {
    let root: TestDirectory
    let runtime: String
    let state: String

    init() throws {
      root = try TestDirectory()
      runtime = try root.directory("run")
      state = try root.directory("state")
    }

    /// What a process needs to know in order to find the daemon; sweep and handler wait for a machine that stalls.
    var environment: [String: String] {
      [
        "CRASHSHIELD_SOCKET": runtime + "/attach", "CRASHSHIELD_SWEEP_MS": "800",
        "CRASHSHIELD_DEADLINE_MS": "60000",
      ]
    }
    var varlinkSocket: String { runtime + "/io.crashshield.Crashd" }
    /// Everything that daemons wrote to standard error here.
    var logPath: String { root.path + "/log" }
  }

  private init(place: Place, process: ChildProcess) {
    self.place = place
    self.process = process
  }

  /// Starts one and waits until it says `READY=1`.
  static func start(
    in place: Place? = nil, descriptorLimit: Int? = nil, options: [String] = []
  ) async throws -> PrivateDaemon {
    let place = try place ?? Place()
    let notifications = try NotificationSocket(path: place.root.path + "/notify")
    let process = try ChildProcess.start(
      Binaries.path("crashd"),
      [
        "--runtime-directory", place.runtime, "--state-directory", place.state,
        "--analyse-path", Binaries.path("crash-analyse"), "--fetch-path", Binaries.path("crash-fetch"),
        // A report is complete when it arrives, also where reading symbols takes minutes.
        "--set", "limits.symbol-wait=600s",
      ] + options,
      ChildProcess.Options(
        environment: ["NOTIFY_SOCKET": notifications.path], directory: place.root.path,
        descriptorLimit: descriptorLimit, errorPath: place.logPath))
    do {
      try await blocking { try notifications.awaitReady(of: process) }
    } catch {
      process.signal(SIGKILL)
      let status = try await process.wait()
      throw SystemError("crashd is not ready (\(error); \(status)): \(try contents(of: place.logPath))", 0)
    }
    return PrivateDaemon(place: place, process: process)
  }

  /// Runs `body` with a daemon, stops it, and throws when it did not end well.
  static func run<Result>(
    options: [String] = [], _ body: (PrivateDaemon) async throws -> Result
  ) async throws -> Result {
    let daemon = try await start(options: options)
    let result: Result
    do {
      result = try await body(daemon)
    } catch {
      try await daemon.kill()
      throw error
    }
    try await daemon.stop()
    return result
  }

  var client: CrashClient { CrashClient(socketPath: place.varlinkSocket, timeout: .seconds(Patience.slices)) }

  /// Stops it as systemd does, and throws unless it exits with 0.
  func stop() async throws {
    process.signal(SIGTERM)
    let status = try await process.wait()
    guard status.code == 0 else {
      throw SystemError("crashd ended with \(status): \(try contents(of: place.logPath))", 0)
    }
  }

  /// Kills it by SIGKILL, without its orderly stop.
  func kill() async throws {
    process.signal(SIGKILL)
    try await process.wait()
  }

  /// Stops all its threads until SIGCONT.
  func stopRunning() async throws {
    process.signal(SIGSTOP)
    let pid = process.pid
    try await blocking {
      var information = unsafe siginfo_t()
      // waitid writes one siginfo_t; it returns when the last thread has stopped.
      while unsafe waitid(P_PID, id_t(pid), &information, WSTOPPED) != 0 {
        guard errno == EINTR else { throw SystemError("waitid", errno) }
      }
    }
  }

  /// The reports of a process that has ended, once crashd has stored all of them.
  func reports(of pid: pid_t) async throws -> [CrashReport] {
    let client = client
    return try await blocking {
      try client.settled(pid).reports.map { try client.report(id: $0).report }
    }
  }

  /// The first report of a process, also one that came through the spool.
  func firstReport(of pid: pid_t) async throws -> CrashReport {
    let client = client
    return try await blocking {
      // Subscribed first, listed then: no report can fall between the two.
      let events = try client.subscribe()
      while let event = try events.next(timeout: .seconds(Patience.slices)) {
        switch event {
        case .ready:
          if let summary = try client.list(ListQuery(filter: ReportFilter(pid: Int(pid)))).first,
            summary.isPreliminary != true
          {
            return try client.report(id: summary.id).report
          }
        case .report(let received, _):
          if received.report.process.pid == Int(pid) { return received.report }
        }
      }
      throw SystemError("crashd ended the stream before a report of process \(pid)", 0)
    }
  }

  /// How many descriptors it has open, without those of the store, whose readers open it when several ask at once.
  func descriptorCount() throws -> Int {
    try entries(of: "/proc/\(process.pid)/fd").count { name in
      var target = [CChar](repeating: 0, count: 4_096)
      // readlink writes at most as many characters as the buffer has, without the one that ends it.
      let count = unsafe readlink("/proc/\(process.pid)/fd/\(name)", &target, target.count - 1)
      // It may be closed meanwhile.
      if count < 0 { return false }
      return !String(decoding: target.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
        .hasPrefix(place.state + "/reports.")
    }
  }

  /// Its descriptors once they are no more than `limit`, or do not change over some calls; each call gives it time.
  ///
  /// Fewer than before is no leak: what held some at first, such as images whose symbols were still being read, is done.
  func settledDescriptorCount(at limit: Int?) async throws -> Int {
    let client = client
    var last = -1
    var same = 0
    for _ in 0..<2_000 {
      let answer = try await blocking { () throws -> DaemonStatus? in
        usleep(5_000)
        do throws(ClientError) { return try client.status() } catch {
          // A crashd without free descriptors closes this connection as well.
          guard case .closed = error else { throw error }
          return nil
        }
      }
      guard let status = answer else { continue }
      let count = try descriptorCount()
      if let limit, count <= limit, status.processes == 0 { return count }
      same = count == last && status.processes == 0 ? same + 1 : 0
      last = count
      if limit == nil && same == 50 { return count }
    }
    return last
  }
}
