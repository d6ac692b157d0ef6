/// Why a call to crashd has no result.
public enum ClientError: Error, Equatable, Sendable {
  /// No crashd listens at `path`, or the caller may not connect: start crashd, or name another socket.
  case unreachable(path: String, errno: Int32)
  /// crashd did not answer in time; it may still do what was asked.
  case timedOut(path: String)
  /// The connection ended before the reply was whole: crashd stopped, or cut off a reader that was too slow.
  case closed(path: String)
  /// Reading from or writing to the connection failed.
  case failed(path: String, errno: Int32)
  /// What came is no reply to the call; the text says what is wrong with it.
  case malformedReply(String)
  /// A reply longer than the client reads.
  case messageTooLarge(limitBytes: Int)
  /// The descriptor that an `EventStream` watches was hung up.
  case cancelled

  /// No report has an id that begins with `id`.
  case noSuchReport(id: String)
  /// `count` reports have such an id: give more digits.
  case ambiguousID(id: String, count: Int)
  /// No group's key begins with this, or those of several do.
  case noSuchGroup(key: String)
  /// The stored record cannot be analysed again; the text says why.
  case notReanalysable(reason: String)
  /// The store never gave out this cursor.
  case invalidCursor(String)
  /// Events behind the cursor were removed before they were read; not `exact`: a few of them stood before it.
  case cursorExpired(lost: Int, exact: Bool)
  /// crashd runs but cannot read its store now.
  case storeUnavailable(reason: String)
  /// There is no subscriber of this name.
  case noSuchSubscriber(String)
  /// The settings of crashd name this collector.
  case subscriberInUse(String)
  /// crashd knows no program of this name.
  case noSuchService(name: String)
  /// So many clients are connected to crashd already, of this user or in all: try again later.
  case tooManyClients(limit: Int)
  /// So many classes of one program can be spoken of.
  case tooManyClasses(limit: Int)
  /// Any other Varlink error.
  case remote(name: String, parameters: JSONValue)
}

extension ClientError {
  /// Maps a Varlink error of the interface to its case.
  init(name: String, parameters: JSONValue) {
    let text = { (key: String) in parameters[key]?.string ?? "" }
    switch name {
    case "io.crashshield.Crashd.NoSuchReport": self = .noSuchReport(id: text("id"))
    case "io.crashshield.Crashd.AmbiguousID":
      self = .ambiguousID(id: text("id"), count: parameters["count"]?.int ?? 2)
    case "io.crashshield.Crashd.NoSuchGroup": self = .noSuchGroup(key: text("key"))
    case "io.crashshield.Crashd.NotReanalysable": self = .notReanalysable(reason: text("reason"))
    case "io.crashshield.Crashd.InvalidCursor": self = .invalidCursor(text("cursor"))
    case "io.crashshield.Crashd.CursorExpired":
      self = .cursorExpired(lost: parameters["lost"]?.int ?? 0, exact: parameters["exact"] != .bool(false))
    case "io.crashshield.Crashd.StoreUnavailable": self = .storeUnavailable(reason: text("reason"))
    case "io.crashshield.Crashd.NoSuchSubscriber": self = .noSuchSubscriber(text("subscriber"))
    case "io.crashshield.Crashd.SubscriberInUse": self = .subscriberInUse(text("subscriber"))
    case "io.crashshield.Crashd.NoSuchService": self = .noSuchService(name: text("name"))
    case "io.crashshield.Crashd.TooManyClients": self = .tooManyClients(limit: parameters["limit"]?.int ?? 0)
    case "io.crashshield.Crashd.TooManyClasses": self = .tooManyClasses(limit: parameters["limit"]?.int ?? 0)
    default: self = .remote(name: name, parameters: parameters)
    }
  }
}
