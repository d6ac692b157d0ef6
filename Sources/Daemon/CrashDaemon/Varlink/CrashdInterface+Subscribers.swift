import CrashReport
import CrashStore
import Glibc

/// Named subscribers: what they have acknowledged outlives them and crashd.
extension CrashdInterface {
  private static let nameLimitBytes = 64

  /// A subscriber's name: letters, digits, `.`, `-` and `_`.
  func subscriberName(_ parameters: VarlinkParameters) throws(VarlinkError) -> String? {
    guard let name = try parameters.string("subscriber") else { return nil }
    let isGood =
      (1...Self.nameLimitBytes).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
    guard isGood else { throw .invalidParameter("subscriber") }
    return name
  }

  /// Whose subscriber is meant: the caller's, unless the caller sees all and names a user.
  private func owner(
    of name: String, _ parameters: VarlinkParameters, _ client: Client
  ) throws(VarlinkError) -> UInt32 {
    guard let given = try parameters.int("uid", in: 0...Int64(UInt32.max)) else { return client.peer.uid }
    let uid = UInt32(given)
    guard client.visibility.includes(Peer(pid: 0, uid: uid)) else {
      throw VarlinkError(StoreError.noSuchSubscriber(name: name))
    }
    return uid
  }

  func acknowledge(_ call: VarlinkCall, from client: Client) throws(VarlinkError) -> CursorReply {
    let parameters = try VarlinkParameters(call, known: ["subscriber", "cursor", "uid"])
    let name = try parameters.required("subscriber", subscriberName(parameters))
    let cursor = try parameters.required("cursor", self.cursor("cursor", parameters))
    let uid = try owner(of: name, parameters, client)
    let reached = try reading { () throws(StoreError) in
      try store.acknowledge(cursor, subscriber: name, uid: uid, at: Moment.now().description)
    }
    return CursorReply(cursor: reached.description)
  }

  func cursor(_ call: VarlinkCall, from client: Client) throws(VarlinkError) -> CursorReply {
    let parameters = try VarlinkParameters(call, known: ["subscriber", "uid"])
    let name = try parameters.required("subscriber", subscriberName(parameters))
    let uid = try owner(of: name, parameters, client)
    let reached = try reading { () throws(StoreError) in try store.cursor(ofSubscriber: name, uid: uid) }
    return CursorReply(cursor: reached.description)
  }

  func forget(_ call: VarlinkCall, from client: Client) throws(VarlinkError) -> EmptyReply {
    let parameters = try VarlinkParameters(call, known: ["subscriber", "uid"])
    if let name = try collector(parameters, client.visibility) {
      try reading { () throws(StoreError) in try store.forget(subscriber: name, uid: geteuid()) }
      return EmptyReply()
    }
    let name = try parameters.required("subscriber", subscriberName(parameters))
    let uid = try owner(of: name, parameters, client)
    try reading { () throws(StoreError) in try store.forget(subscriber: name, uid: uid) }
    return EmptyReply()
  }

  /// The name of a collector that crashd sends nothing to any more; nil: none is meant.
  private func collector(
    _ parameters: VarlinkParameters, _ visibility: Visibility
  ) throws(VarlinkError) -> String? {
    guard visibility == .all, let name = try parameters.string("subscriber"),
      name.hasPrefix(ForwardSettings.subscriberPrefix)
    else { return nil }
    // It would be entered again at once, and would have lost its place.
    if forwards.all[String(name.dropFirst(ForwardSettings.subscriberPrefix.count))] != nil {
      throw .subscriberInUse(name)
    }
    return name
  }

  func subscribers(_ call: VarlinkCall, _ visibility: Visibility) throws(VarlinkError) -> SubscribersReply {
    _ = try VarlinkParameters(call, known: [])
    let (found, newest) = try reading { () throws(StoreError) in
      (try store.subscribers(visibility: visibility), try store.newestCursor())
    }
    return SubscribersReply(
      subscribers: found.map { SubscribersReply.Subscriber($0, behind: $0.behind(newest)) })
  }

  /// How far each named subscriber is behind; collectors of the settings have a metric of their own.
  func addSubscribers(
    to metrics: inout OpenMetrics, _ newest: StoreCursor, _ visibility: Visibility
  ) throws(VarlinkError) {
    let found = try reading { () throws(StoreError) in try store.subscribers(visibility: visibility) }
    metrics.add(
      "crashd_subscriber_behind", .gauge, "Events that a named subscriber has not acknowledged yet.",
      by: ["name", "uid"],
      found.filter { !$0.name.hasPrefix(ForwardSettings.subscriberPrefix) }.map {
        ([$0.name, "\($0.uid)"], $0.behind(newest))
      })
  }
}

extension CrashStore.Subscriber {
  /// Events that were stored behind its cursor.
  func behind(_ newest: StoreCursor) -> Int { max(0, Int(clamping: newest.sequence - cursor.sequence)) }
}

struct CursorReply: Encodable, Sendable {
  var cursor: String
}

struct EmptyReply: Encodable, Sendable {}

struct SubscribersReply: Encodable, Sendable {
  struct Subscriber: Encodable, Sendable {
    var name: String
    var uid: Int
    var cursor: String
    var time: String
    var behind: Int

    init(_ subscriber: CrashStore.Subscriber, behind: Int) {
      name = subscriber.name
      uid = subscriber.uid
      cursor = subscriber.cursor.description
      time = subscriber.time
      self.behind = behind
    }
  }

  var subscribers: [Subscriber]
}
