public import FleetStore

/// The limits for one client or one tenant.
public struct FleetLimits: Sendable, Equatable {
  /// The maximum size of a body before decompression.
  public var bodyBytes = 4 << 20
  /// The maximum size of a body after decompression.
  public var decompressedBytes = 16 << 20
  /// The limits of items.
  public var items = IngestParser.Limits()
  /// The time within which a client must send a whole request, in seconds.
  public var request_s = 30
  /// The time for which a connection is allowed to be idle between requests, in seconds.
  public var idle_s = 75
  /// The maximum number of connections.
  public var connections = 2_048
  /// The maximum number of requests that the service receives or stores at once.
  public var requests = 96
  /// The maximum number of such requests of one tenant.
  public var requestsOfTenant = 64
  /// The maximum number of bodies that the service decompresses and parses at once, which limits the memory.
  public var parsing = 4
  /// The maximum number of unknown tokens per second.
  ///
  /// The service looks up each of them in the database.
  public var unknownTokens = 20

  /// Creates the default limits.
  public init() {}
}
