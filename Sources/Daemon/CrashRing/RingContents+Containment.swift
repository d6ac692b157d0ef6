public import CrashReport

extension RingContents {
  /// The settings and the state of containment in a process.
  ///
  /// With containment, a trap ends a request instead of the process.
  public struct Containment: Sendable, Equatable {
    /// The mode that the program chose.
    public var mode: CrashReport.Containment.Mode
    /// Why containment does not work in the process; nil if it works.
    public var obstacle: CrashReport.Containment.Obstacle?
    /// The maximum number of traps that the process contains.
    public var budget: UInt32 = 0
    /// The number of traps of requests that the process contained.
    public var contained: UInt32 = 0
    /// The drain; nil if none has begun.
    public var drain: Drain?
  }

  /// The drain of the process: how the requests that were in flight at a trap ended.
  public struct Drain: Sendable, Equatable {
    /// What ended the drain; nil if it is under way.
    public var end: CrashReport.Containment.End?
    /// The number of requests that ended during the drain, except requests whose thread was stopped by a trap.
    public var finished: UInt32 = 0
    /// The number of requests that had not ended when the drain ended, or whose thread waited for a thread that a trap
    /// stopped.
    public var lost: UInt32 = 0
    /// The time at which the drain began, in nanoseconds since 1970.
    public var begin_ns: UInt64
    /// The time at which the drain ended, in nanoseconds since 1970; 0 if it is under way.
    public var end_ns: UInt64 = 0

    /// The duration of the drain in nanoseconds; nil if it is under way, or if the clock was set back.
    public var duration_ns: UInt64? { end != nil && end_ns >= begin_ns ? end_ns - begin_ns : nil }
  }
}
