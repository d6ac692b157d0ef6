/// A named subscriber of events.
public struct Subscriber: Codable, Sendable, Equatable {
  /// The name of the subscriber, which the subscriber itself chose.
  ///
  /// A collector that is or was in crashd's settings has the name `forward PATH`.
  public var name: String
  /// The uid of the subscriber's owner.
  ///
  /// Subscribers of different users can have the same name.
  public var uid: Int
  /// The cursor that the subscriber acknowledged last.
  public var cursor: String
  /// The time of the last subscription or acknowledgement, as RFC 3339 in UTC.
  public var time: String
  /// The lag: the number of events that were stored after the cursor.
  ///
  /// The value is nil in replies of a crashd version without this property.
  public var behind: Int?

  /// Creates a value from its parts.
  package init(name: String, uid: Int, cursor: String, time: String, behind: Int? = nil) {
    (self.name, self.uid, self.cursor, self.time, self.behind) = (name, uid, cursor, time, behind)
  }
}
