/// A named subscriber of events.
public struct Subscriber: Codable, Sendable, Equatable {
  /// The name that the subscriber chose.
  ///
  /// The name of a current or former collector in crashd's settings is `forward PATH`.
  public var name: String
  /// The subscriber's uid.
  ///
  /// Subscribers of different users may have the same name.
  public var uid: Int
  /// The cursor of its last acknowledgement.
  public var cursor: String
  /// The time at which it last subscribed or acknowledged, RFC 3339 in UTC.
  public var time: String
  /// The lag, as the number of events stored after the cursor, or nil from an older crashd.
  public var behind: Int?

  /// Creates a value from its parts.
  package init(name: String, uid: Int, cursor: String, time: String, behind: Int? = nil) {
    (self.name, self.uid, self.cursor, self.time, self.behind) = (name, uid, cursor, time, behind)
  }
}
