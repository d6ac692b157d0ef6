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

  /// Makes one from its parts.
  package init(name: String, uid: Int, cursor: String, time: String, behind: Int? = nil) {
    (self.name, self.uid, self.cursor, self.time, self.behind) = (name, uid, cursor, time, behind)
  }
}
