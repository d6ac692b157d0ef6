/// The source location of a guard.
public struct ShieldSite: Sendable {
  /// `Module/File.swift`.
  public var fileID: StaticString
  /// The line.
  public var line: UInt

  /// Creates a site; by default that of the call.
  @inlinable
  public init(fileID: StaticString = #fileID, line: UInt = #line) {
    self.fileID = fileID
    self.line = line
  }
}

/// A fault that a guard recorded: faults of the same kind and call site are one incident.
public struct ShieldIncident: Sendable, Hashable {
  /// The kind of the fault.
  public var kind: ShieldKind
  /// The mode at the first occurrence.
  public var mode: ShieldMode
  /// Types and numbers of the first occurrence, never values: at most 256 bytes of UTF-8.
  public var reason: String
  /// `Module/File.swift`, of which the last 96 bytes are kept.
  ///
  /// Empty for an implicit protection: crashd symbolicates `frames` to a call site instead.
  public var fileID: String
  /// The line; 0 where `fileID` is empty.
  public var line: Int
  /// The number of occurrences.
  public var count: Int
  /// The kernel's thread id at the first occurrence.
  public var thread: Int
  /// The Swift runtime's number of the task at the first occurrence, as crash reports have it; nil if the thread ran no
  /// task, or if the runtime cannot be asked.
  ///
  /// Known in the process only: crashd does not get it.
  public var task: UInt64? = nil
  /// Return addresses of the first occurrence, innermost first; at most 16, without those of async callers.
  public var frames: [UInt]
}
