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
  /// This time exceeds one wait for the database server, which takes 45 s at most. A call can consist of
  /// several such waits, and then last longer than the client's connection. The client then sends the batch again,
  /// which changes nothing.
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
  /// This bounds the memory: until a body is stored, it has three copies (decompressed, as parameters, and in libpq).
  public var bodies = 4
  /// The maximum number of unknown tokens a second.
  ///
  /// Each one needs a look-up in the database.
  public var unknownTokens = 20

  /// Creates the default limits.
  public init() {}
}
