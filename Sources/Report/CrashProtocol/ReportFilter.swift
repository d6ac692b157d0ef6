/// Which reports are meant; nil does not restrict.
///
/// The parameters of `List`, `Groups` and `Subscribe`, the settings of forwarding and the options of crashctl are this filter.
public struct ReportFilter: Codable, Sendable, Hashable {
  /// The process.
  public var pid: Int?
  /// A part of the program's name.
  public var name: String?
  /// The group's key, or how it begins.
  public var group: String?
  /// The systemd unit.
  public var unit: String?
  /// The signal, such as `SIGSEGV`.
  public var signal: String?
  /// A part of the executable's path.
  public var executable: String?
  /// Only crashes at or after this time, RFC 3339.
  public var since: String?
  /// Only crashes before or at this time, RFC 3339.
  public var until: String?

  /// Makes a filter.
  public init(
    pid: Int? = nil, name: String? = nil, group: String? = nil, unit: String? = nil, signal: String? = nil,
    executable: String? = nil, since: String? = nil, until: String? = nil
  ) {
    (self.pid, self.name, self.group, self.unit) = (pid, name, group, unit)
    (self.signal, self.executable, self.since, self.until) = (signal, executable, since, until)
  }
}
