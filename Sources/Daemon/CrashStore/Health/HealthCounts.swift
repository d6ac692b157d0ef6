/// The figures of a build for a period: its running time, its requests and its crashes.
public struct HealthCounts: Codable, Sendable, Equatable {
  /// The total running time of all processes, in milliseconds.
  public var time_ms = 0
  /// The part of the running time in which another build of the program ran as well, in milliseconds.
  public var shared_ms = 0
  /// The number of requests that began.
  public var begun = 0
  /// The number of requests that ended without an error.
  public var finished = 0
  /// The number of requests that ended by an error or by a contained trap.
  public var failed = 0
  /// The number of requests that were in flight when a crash ended their process.
  public var lost = 0
  /// The number of processes that a crash ended.
  public var crashes = 0

  /// The maximum of each count.
  ///
  /// With it, sums of counts cannot overflow.
  public static let most = 1 << 50

  /// Creates counts that are all zero.
  public init() {}

  /// Adds counts; no sum exceeds `most`.
  public static func + (left: HealthCounts, right: HealthCounts) -> HealthCounts {
    var sum = HealthCounts()
    for field in fields { sum[keyPath: field] = min(left[keyPath: field] + right[keyPath: field], most) }
    return sum
  }

  private static var fields: [WritableKeyPath<HealthCounts, Int>] {
    [\.time_ms, \.shared_ms, \.begun, \.finished, \.failed, \.lost, \.crashes]
  }
}

/// A build of a program of one user.
public struct HealthKey: Hashable, Sendable {
  let owner: Int64
  /// The name of the program.
  public let program: String
  /// The build id of the executable, or `unknown`.
  public let build: String

  /// Creates a key; long names are shortened, because processes choose them.
  public init(uid: UInt32, isRestricted: Bool, program: String, build: String) {
    owner = OwnerKey.of(uid: Int(uid), isRestricted: isRestricted)
    self.program = EventCount.label(program)
    self.build = build.isEmpty ? "unknown" : EventCount.label(build)
  }

  init(owner: Int64, program: String, build: String) {
    (self.owner, self.program, self.build) = (owner, program, build)
  }

  /// The user ID of the build's processes.
  public var uid: UInt32 { UInt32(clamping: OwnerKey.uid(owner)) }

  /// Whether both keys are builds of the same program of the same user.
  public func isSameProgram(as other: HealthKey) -> Bool { owner == other.owner && program == other.program }
}

/// The counts that a call of `add(health:marks:)` adds to a build.
public struct HealthChange: Sendable, Equatable {
  /// The build.
  public var key: HealthKey
  /// The program's annotation `release`; nil leaves the stored value unchanged.
  public var release: String?
  /// The program's annotation `environment`; nil leaves the stored value unchanged.
  public var environment: String?
  /// The time at which the build was first seen; used only if the build is not stored yet.
  public var first: String
  /// The time at which the build was last seen.
  public var last: String
  /// The counts for each hour; the key is the number of hours since 1970.
  public var hours: [Int: HealthCounts] = [:]
  /// The numbers of restarts after a crash, by hour and then by histogram bucket: the range of the time until the
  /// program ran again.
  public var returns: [Int: [Int: Int]] = [:]

  /// Creates a change without counts.
  public init(_ key: HealthKey, first: String, last: String) { (self.key, self.first, self.last) = (key, first, last) }
}

/// The part of a process's counters that the stored counts already include.
public struct HealthMark: Sendable, Equatable {
  let owner: Int64
  /// The ID of the process's ring.
  public let ring: String
  /// The ID of the boot that `counted_ns` belongs to.
  public var boot: String
  /// The time in CLOCK_MONOTONIC up to which the stored counts include the running time.
  public var counted_ns: UInt64
  /// The wall-clock time of the last count, in seconds since 1970.
  public var last_s = 0
  /// The number of begun requests of the process that are counted.
  public var begun: UInt64 = 0
  /// The number of finished requests of the process that are counted.
  public var finished: UInt64 = 0
  /// The number of failed requests of the process that are counted.
  public var failed: UInt64 = 0
  /// Whether the end of the process is counted.
  public var hasEnded = false

  /// Creates the mark of a process for which nothing is counted yet.
  public init(_ key: HealthKey, ring: String, boot: String, counted_ns: UInt64) {
    (owner, self.ring, self.boot, self.counted_ns) = (key.owner, ring, boot, counted_ns)
  }
}

/// A build with its counts.
public struct StoredHealth: Sendable, Equatable {
  /// The build.
  public var key: HealthKey
  /// The program's last annotation `release`.
  public var release: String?
  /// The program's last annotation `environment`.
  public var environment: String?
  /// The time at which the build was first seen, as RFC 3339 in UTC.
  public var first: String
  /// The time at which the build was last seen, as RFC 3339 in UTC.
  public var last: String
  /// The counts of the requested period.
  public var counts: HealthCounts
  /// The numbers of restarts after a crash in the requested period, by the histogram bucket of the time until the
  /// restart.
  public var returns: [Int: Int] = [:]
}
