/// Where a guard stands in the source.
public struct ShieldSite: Sendable {
  /// `Module/File.swift`.
  public var fileID: StaticString
  /// The line.
  public var line: UInt

  /// Makes a site; by default that of the call.
  @inlinable
  public init(fileID: StaticString = #fileID, line: UInt = #line) {
    self.fileID = fileID
    self.line = line
  }
}

/// A fault that a guard met: what is equal in kind and place is one incident.
public struct ShieldIncident: Sendable, Hashable {
  /// What kind of fault.
  public var kind: ShieldKind
  /// What was done about it, the first time.
  public var mode: ShieldMode
  /// Types and numbers of the first time, never values: at most 256 bytes of UTF-8.
  public var reason: String
  /// `Module/File.swift`, of which the last 96 bytes are kept.
  ///
  /// Empty where nobody asked for protection at the place: then `frames` tell it, which crashd makes names and lines of.
  public var fileID: String
  /// The line; 0 where `fileID` is empty.
  public var line: Int
  /// How often it has happened.
  public var count: Int
  /// The kernel's number of the thread of the first time.
  public var thread: Int
  /// The Swift runtime's number of the task of the first time, as crash reports have it; nil: no task ran on the thread, or
  /// the runtime cannot be asked.
  ///
  /// Known in the process only: crashd is not told.
  public var task: UInt64? = nil
  /// Return addresses of the first time, innermost first; at most 16, without those of async callers.
  public var frames: [UInt]
}
