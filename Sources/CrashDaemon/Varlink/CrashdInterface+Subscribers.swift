import CrashReport
import CrashStore

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

  func acknowledge(_ call: VarlinkCall, from peer: Peer) throws(VarlinkError) -> CursorReply {
    let parameters = try VarlinkParameters(call, known: ["subscriber", "cursor"])
    let name = try parameters.required("subscriber", subscriberName(parameters))
    let cursor = try parameters.required("cursor", self.cursor("cursor", parameters))
    let reached = try reading { () throws(StoreError) in
      try store.acknowledge(cursor, subscriber: name, uid: peer.uid, at: Moment.now().description)
    }
    return CursorReply(cursor: reached.description)
  }

  func cursor(_ call: VarlinkCall, from peer: Peer) throws(VarlinkError) -> CursorReply {
    let parameters = try VarlinkParameters(call, known: ["subscriber"])
    let name = try parameters.required("subscriber", subscriberName(parameters))
    let reached = try reading { () throws(StoreError) in try store.cursor(ofSubscriber: name, uid: peer.uid) }
    return CursorReply(cursor: reached.description)
  }

  func forget(_ call: VarlinkCall, from peer: Peer) throws(VarlinkError) -> EmptyReply {
    let parameters = try VarlinkParameters(call, known: ["subscriber"])
    let name = try parameters.required("subscriber", subscriberName(parameters))
    try reading { () throws(StoreError) in try store.forget(subscriber: name, uid: peer.uid) }
    return EmptyReply()
  }

  func subscribers(_ call: VarlinkCall, _ visibility: Visibility) throws(VarlinkError) -> SubscribersReply {
    _ = try VarlinkParameters(call, known: [])
    let found = try reading { () throws(StoreError) in try store.subscribers(visibility: visibility) }
    return SubscribersReply(subscribers: found.map { SubscribersReply.Subscriber($0) })
  }
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

    init(_ subscriber: CrashStore.Subscriber) {
      name = subscriber.name
      uid = subscriber.uid
      cursor = subscriber.cursor.description
      time = subscriber.time
    }
  }

  var subscribers: [Subscriber]
}
