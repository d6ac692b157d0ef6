import CrashClient
import CrashProtocol
import CrashReport
import Glibc
import TestKit

/// A crashd process that belongs to one test, with its own directories.
final class PrivateDaemon: Sendable {
  /// The daemon's directories.
  ///
  /// The directories remain when the daemon ends. Therefore another daemon can use them.
  let place: Place
  let process: ChildProcess
  /// The pid of crashd.
  ///
  /// It is the pid of `process`, or of its child if `process` is another command that started crashd.
  private let daemonPid: pid_t

  /// The directories of a daemon, which need not run yet.
  final class Place: Sendable {
    let root: TestDirectory
    let runtime: String
    let state: String

    init() throws {
      root = try TestDirectory()
      runtime = try root.directory("run")
      state = try root.directory("state")
    }

    /// The environment of a process with the shield.
    ///
    /// It names the daemon's socket. Its timeouts for the thread sweep and the handler are long enough for a machine
    /// that stalls.
    var environment: [String: String] {
      [
        "CRASHSHIELD_SOCKET": runtime + "/attach", "CRASHSHIELD_SWEEP_MS": "800",
        "CRASHSHIELD_DEADLINE_MS": "60000",
      ]
    }
    var varlinkSocket: String { runtime + "/io.crashshield.Crashd" }
    /// All daemons in these directories write their standard error to this file.
    var logPath: String { root.path + "/log" }
  }

  private init(place: Place, process: ChildProcess, daemonPid: pid_t) {
    self.place = place
    self.process = process
    self.daemonPid = daemonPid
  }

  /// Starts a daemon and waits until it sends `READY=1`.
  ///
  /// `through` is a command that starts crashd as its child, and exits with its status.
  static func start(
    in place: Place? = nil, descriptorLimit: Int? = nil, options: [String] = [], through: [String] = []
  ) async throws -> PrivateDaemon {
    let place = try place ?? Place()
    let notifications = try NotificationSocket(path: place.root.path + "/notify")
    let words = try through + [Binaries.path("crashd")]
    let process = try ChildProcess.start(
      words[0],
      Array(words.dropFirst()) + [
        "--runtime-directory", place.runtime, "--state-directory", place.state,
        "--analyse-path", Binaries.path("crash-analyse"), "--fetch-path", Binaries.path("crash-fetch"),
        // The daemon waits up to ten minutes for symbols. Therefore a report is complete when it arrives, even if
        // reading symbols takes minutes.
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
    var pid = process.pid
    if !through.isEmpty {
      let children = try contents(of: "/proc/\(pid)/task/\(pid)/children")
      guard let child = children.split(separator: " ").first.flatMap({ pid_t($0) }) else {
        throw SystemError("'\(through)' started no crashd", 0)
      }
      pid = child
    }
    return PrivateDaemon(place: place, process: process, daemonPid: pid)
  }

  /// Runs `body` with a daemon, stops the daemon, and throws if its exit status is not 0.
  static func run<Result>(
    options: [String] = [], through: [String] = [], _ body: (PrivateDaemon) async throws -> Result
  ) async throws -> Result {
    let daemon = try await start(options: options, through: through)
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

  /// Stops the daemon by SIGTERM, as systemd does.
  ///
  /// Throws if the daemon's exit status is not 0.
  func stop() async throws {
    Glibc.kill(daemonPid, SIGTERM)
    let status = try await process.wait()
    guard status.code == 0 else {
      throw SystemError("crashd ended with \(status): \(try contents(of: place.logPath))", 0)
    }
  }

  /// Kills the daemon by SIGKILL.
  func kill() async throws {
    process.signal(SIGKILL)
    try await process.wait()
  }

  /// Sends SIGSTOP to the daemon, and waits until all its threads have stopped.
  func stopRunning() async throws {
    process.signal(SIGSTOP)
    let pid = process.pid
    try await blocking {
      var information = unsafe siginfo_t()
      // Invariant: waitid writes one siginfo_t. It returns when the last thread has stopped.
      while unsafe waitid(P_PID, id_t(pid), &information, WSTOPPED) != 0 {
        guard errno == EINTR else { throw SystemError("waitid", errno) }
      }
    }
  }

  /// Waits until crashd has stored all reports of this process, which has ended, and returns them.
  func reports(of pid: pid_t) async throws -> [CrashReport] {
    let client = client
    return try await blocking {
      try client.settled(pid).reports.map { try client.report(id: $0).report }
    }
  }

  /// Waits until the reports of a process are stored, and returns the report whose last arguments are `arguments`.
  ///
  /// Compares the arguments, because the tests start so many processes that the kernel can reuse a pid. A report of
  /// another user's process has no arguments, and matches by its pid alone.
  func report(of pid: pid_t, arguments: [String]) async throws -> CrashReport? {
    let client = client
    return try await blocking {
      _ = try client.settled(pid)
      return try client.list(ListQuery(filter: ReportFilter(pid: Int(pid))))
        .map { try client.report(id: $0.id).report }
        .first { $0.process.commandLine.map { $0.hasSuffix(arguments.joined(separator: " ")) } ?? true }
    }
  }

  /// Waits for the first report of a process, and returns it.
  ///
  /// The report can come from the spool.
  func firstReport(of pid: pid_t) async throws -> CrashReport {
    let client = client
    return try await blocking {
      // Subscribe before listing the reports, so that no report is missed.
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

  /// Returns the number of the daemon's open descriptors, without those of the store.
  ///
  /// The store opens more descriptors when several clients query at once.
  func descriptorCount() throws -> Int {
    try entries(of: "/proc/\(process.pid)/fd").count { name in
      var target = [CChar](repeating: 0, count: 4_096)
      // Invariant: readlink writes at most `target.count - 1` characters and no NUL.
      let count = unsafe readlink("/proc/\(process.pid)/fd/\(name)", &target, target.count - 1)
      // The daemon can close the descriptor after the directory was read.
      if count < 0 { return false }
      return !String(decoding: target.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
        .hasPrefix(place.state + "/reports.")
    }
  }

  /// Waits until the descriptor count is at most `limit`.
  ///
  /// If `limit` is nil, waits until several counts in a row are equal. Returns the count. The count can fall below its
  /// first value, for example when crashd closes an image (a program or library file) whose symbols it has read.
  func settledDescriptorCount(at limit: Int?) async throws -> Int {
    let client = client
    var last = -1
    var same = 0
    for _ in 0..<2_000 {
      let answer = try await blocking { () throws -> DaemonStatus? in
        usleep(5_000)
        do throws(ClientError) { return try client.status() } catch {
          // If crashd has no free descriptor, it closes this connection, too.
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
