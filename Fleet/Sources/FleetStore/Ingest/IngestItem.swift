/// One item of a batch that a host sent.
public enum IngestItem: Sendable, Equatable {
  /// A whole report.
  case report(IncomingReport)
  /// The number of crashes of a group whose reports the host did not send.
  case count(IncomingCount)
  /// The position that the host has reached in its own store.
  case position(IncomingPosition)
  /// The host's answer to a request of the fleet (an ask).
  case answer(IncomingAnswer)
}

/// The host that sent an item.
public struct IncomingHost: Sendable, Hashable {
  /// The id that crashd derives from the machine id.
  public var machine: UInt128
  /// The host name.
  public var name: String

  /// Creates a host from its parts.
  public init(machine: UInt128, name: String) { (self.machine, self.name) = (machine, name) }
}

/// A program, and one of its builds.
public struct IncomingBuild: Sendable, Hashable {
  /// The name of the program.
  public var program: String
  /// The build id; empty if the program has none.
  public var build: String

  /// Creates a build from its parts.
  public init(program: String, build: String) { (self.program, self.build) = (program, build) }

  /// Compares the bytes of both strings, as the database does.
  public static func == (left: Self, right: Self) -> Bool {
    left.program.hasSameBytes(as: right.program) && left.build.hasSameBytes(as: right.build)
  }

  /// Hashes the bytes of both strings.
  public func hash(into hasher: inout Hasher) {
    program.hashBytes(into: &hasher)
    build.hashBytes(into: &hasher)
  }
}

// PostgreSQL compares the bytes of strings. In Swift, strings with the same characters are equal, although an accent
// can be a part of its letter or follow it. Keys of the database's rows therefore use these functions.
extension String {
  func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  func hashBytes(into hasher: inout Hasher) {
    for byte in utf8 { hasher.combine(byte) }
    // UTF-8 does not contain this byte, so it marks the end of the string.
    hasher.combine(UInt8.max)
  }
}

/// A group, as crashd computed it.
public struct IncomingGroup: Sendable, Hashable {
  /// The key of the group.
  public var key: String
  /// The version of the rules by which crashd makes keys.
  public var version: Int32
  /// The readable title.
  public var title: String
  /// The coarse key, which similar issues share.
  public var coarse: String?
  /// The cause of the diagnosis.
  public var cause: String
  /// The name of the signal.
  public var signal: String

  /// Creates a group from its parts.
  public init(key: String, version: Int32, title: String, coarse: String?, cause: String, signal: String) {
    (self.key, self.version, self.title, self.coarse) = (key, version, title, coarse)
    (self.cause, self.signal) = (cause, signal)
  }
}

/// A whole report, and the fields by which the database can search for it.
public struct IncomingReport: Sendable, Equatable {
  /// The id of the report.
  public var id: UInt128
  /// The revision of the report; a later revision has a higher number.
  public var revision: Int64
  /// The time of the crash by the host's clock, in microseconds since 1970.
  public var time_us: Int64
  /// The machine.
  public var host: IncomingHost
  /// The program.
  public var build: IncomingBuild
  /// The group.
  public var group: IncomingGroup
  /// The systemd unit.
  public var unit: String?
  /// The release.
  public var release: String?
  /// The environment.
  public var environment: String?
  /// The operation of the request that crashed.
  public var route: String?
  /// The JSON of the report.
  public var body: ArraySlice<UInt8>

  /// Creates a report without optional fields.
  public init(
    id: UInt128, revision: Int64, time_us: Int64, host: IncomingHost, build: IncomingBuild, group: IncomingGroup,
    body: ArraySlice<UInt8>
  ) {
    (self.id, self.revision, self.time_us, self.host) = (id, revision, time_us, host)
    (self.build, self.group, self.body) = (build, group, body)
  }
}

/// A counter of one run of a forwarder: the crashes of one hour whose reports were not sent.
public struct IncomingCount: Sendable, Equatable {
  /// The machine.
  public var host: IncomingHost
  /// The program.
  public var build: IncomingBuild
  /// The group.
  public var group: IncomingGroup
  /// The hour of the crashes by the host's clock, in hours since 1970.
  public var hour: Int64
  /// A random number above 0 that identifies this counter of this run of the forwarder.
  public var run: Int64
  /// The number of crashes in this hour that this run has counted so far.
  public var crashes: Int64

  /// Creates a counter from its parts.
  public init(
    host: IncomingHost, build: IncomingBuild, group: IncomingGroup, hour: Int64, run: Int64, crashes: Int64
  ) {
    (self.host, self.build, self.group, self.hour) = (host, build, group, hour)
    (self.run, self.crashes) = (run, crashes)
  }
}

/// The position in a host's store up to which the host has sent everything.
///
/// The transaction of the batch also stores the position. A forwarder that restarts continues at this position, so it
/// counts no crash twice.
public struct IncomingPosition: Sendable, Equatable {
  /// The machine.
  public var host: IncomingHost
  /// The name of the stream: the id of crashd's store, and the subscriber.
  public var stream: String
  /// The cursor.
  ///
  /// The fleet does not interpret it.
  public var position: String
  /// The time of the host's clock when the host sent the batch, in microseconds since 1970.
  public var time_us: Int64?

  /// Creates a position from its parts.
  public init(host: IncomingHost, stream: String, position: String) {
    (self.host, self.stream, self.position) = (host, stream, position)
  }
}

/// The answer of a host to an ask: the fleet's request for a report, or for the protection of a class.
public struct IncomingAnswer: Sendable, Equatable {
  /// What the host did.
  public enum Outcome: String, Sendable {
    /// The batch contains the report.
    case sent
    /// crashd protects the class on this host.
    case protected
    /// The host does not do it, for example because its settings or its operator do not allow it.
    case refused
  }

  /// The machine.
  public var host: IncomingHost
  /// The number of the ask.
  public var ask: Int64
  /// What the host did.
  public var outcome: Outcome

  /// Creates an answer from its parts.
  public init(host: IncomingHost, ask: Int64, outcome: Outcome) {
    (self.host, self.ask, self.outcome) = (host, ask, outcome)
  }
}

/// The outcome of an item after the commit.
public enum IngestOutcome: String, Sendable {
  /// The report is new.
  case stored
  /// The report replaced an earlier revision.
  case updated
  /// The same revision or a later one is already stored.
  case duplicate
  /// The counter, the position or the answer is stored.
  case counted
  /// The crash is older than the retention.
  case expired
}
