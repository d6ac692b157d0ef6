/// The source location of a guard.
public struct ShieldSite: Sendable {
  /// The file, such as `Module/File.swift`.
  public var fileID: StaticString
  /// The line of the guard in the file.
  public var line: UInt

  /// Creates a site; by default, the source location of this call.
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
  /// A description of the first occurrence with types and numbers, never values; at most 256 bytes of UTF-8.
  public var reason: String
  /// The last 96 bytes of the file, such as `Module/File.swift`.
  ///
  /// Empty for an implicit protection: crashd symbolicates `frames` to find the call site.
  public var fileID: String
  /// The line; 0 if `fileID` is empty.
  public var line: Int
  /// The number of occurrences.
  public var count: Int
  /// The kernel's thread id at the first occurrence.
  public var thread: Int
  /// The Swift runtime's task number at the first occurrence, as in crash reports; nil if it is unknown.
  ///
  /// The number is unknown if the thread did not run a task, or if this Swift runtime does not provide the number.
  /// crashd does not receive the number.
  public var task: UInt64? = nil
  /// Return addresses of the first occurrence, innermost first; at most 16.
  ///
  /// Async callers are not included.
  public var frames: [UInt]
}
