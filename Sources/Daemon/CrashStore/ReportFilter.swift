/// Whose reports a reader may see.
public enum Visibility: Sendable, Hashable {
  /// Every report.
  case all
  /// The reports of processes that ran under this user id.
  case user(UInt32)

  var uid: Int64? {
    switch self {
    case .all: nil
    case .user(let uid): Int64(uid)
    }
  }
}

/// Which reports to list.
public struct ReportFilter: Sendable, Equatable {
  /// The process.
  public var pid: Int?
  /// A part of the process's name.
  public var name: String?
  /// The group's key, or how it begins.
  public var group: String?
  /// The systemd unit.
  public var unit: String?
  /// Such as `SIGSEGV`.
  public var signal: String?
  /// A part of the executable's path.
  public var executable: String?
  /// Not before this time, RFC 3339 in UTC with microseconds (as in `CrashReport.time`).
  public var since: String?
  /// Not after it.
  public var until: String?

  /// Makes a filter; nil does not restrict.
  public init(
    pid: Int? = nil, name: String? = nil, group: String? = nil, unit: String? = nil, signal: String? = nil,
    executable: String? = nil, since: String? = nil, until: String? = nil
  ) {
    self.pid = pid
    self.name = name
    self.group = group
    self.unit = unit
    self.signal = signal
    self.executable = executable
    self.since = since
    self.until = until
  }
}
