public import FleetStore

/// The limits for one client or one tenant.
public struct FleetLimits: Sendable, Equatable {
  /// The maximum size of a body before decompression.
  public var bodyBytes = 4 << 20
  /// The maximum size of a decompressed body.
  public var decompressedBytes = 8 << 20
  /// The limits of items.
  public var items = IngestParser.Limits()
  /// The time within which a client must send a whole request, in seconds.
  public var request_s = 30
  /// The time within which a whole request has its answer, in seconds.
  ///
  /// It is longer than one wait for the server of the database, which takes 45 s at most. A call repeats such a wait up
  /// to three times, so it can outlast its connection. The client then sends the batch again, which changes nothing.
  public var answer_s = 120
  /// The time for which a connection may be idle between requests, in seconds.
  public var idle_s = 75
  /// The maximum number of connections.
  public var connections = 2_048
  /// The maximum number of requests that are being read or stored at once.
  public var requests = 32
  /// The maximum number of these requests that one tenant has.
  public var requestsOfTenant = 24
  /// The maximum number of bodies that are decompressed, parsed and stored at once.
  ///
  /// It bounds the memory, because a body has copies until it is stored: decompressed, as parameters, and in libpq.
  public var bodies = 4
  /// The maximum number of unknown tokens a second; the database looks each one up.
  public var unknownTokens = 20

  /// Creates the default limits.
  public init() {}
}
