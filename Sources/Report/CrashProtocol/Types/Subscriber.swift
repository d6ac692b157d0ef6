/// A named subscriber of events.
public struct Subscriber: Codable, Sendable, Equatable {
  /// The name that it has chosen; `forward PATH` for a current or earlier collector of crashd's settings.
  public var name: String
  /// Its user: the same name of another user is another subscriber.
  public var uid: Int
  /// The cursor of its last acknowledgement.
  public var cursor: String
  /// When it last subscribed or acknowledged, RFC 3339 in UTC.
  public var time: String
  /// Its lag: events stored since; nil from an older crashd.
  public var behind: Int?

  /// Makes one from its parts.
  package init(name: String, uid: Int, cursor: String, time: String, behind: Int? = nil) {
    (self.name, self.uid, self.cursor, self.time, self.behind) = (name, uid, cursor, time, behind)
  }
}
