/// Who follows events under a name.
public struct Subscriber: Codable, Sendable, Equatable {
  /// Chosen by itself; `forward PATH` for a collector that crashd's settings name, or once named.
  public var name: String
  /// Whose it is: names of different users are different ones.
  public var uid: Int
  /// Everything up to here it has acknowledged.
  public var cursor: String
  /// When it last came or acknowledged, RFC 3339 in UTC.
  public var time: String
  /// Events that were stored since; nil from an older crashd.
  public var behind: Int?
}

// Named subscribers.
extension CrashClient {
  /// Those of the caller's user; of all users, where the caller may see them.
  /// - Throws: What kept crashd from answering.
  public func subscribers() throws(ClientError) -> [Subscriber] {
    struct Parameters: Decodable { var subscribers: [Subscriber] }
    return try call("Subscribers", Nothing(), returning: Parameters.self).subscribers
  }

  /// Forgets a subscriber: when it comes again it begins with what is new then.
  /// - Parameters:
  ///   - name: Its name; `forward PATH` is a collector that the settings name no more.
  ///   - uid: Whose it is; nil: the caller's.
  /// - Throws: `noSuchSubscriber`, `subscriberInUse`, and what kept crashd from doing it.
  public func unsubscribe(_ name: String, uid: Int? = nil) throws(ClientError) {
    struct Query: Encodable {
      var subscriber: String
      var uid: Int?
    }
    struct Parameters: Decodable {}
    _ = try call("Unsubscribe", Query(subscriber: name, uid: uid), returning: Parameters.self)
  }
}
