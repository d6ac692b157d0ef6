import CrashProtocol
import CrashReport
import CrashStore
import Glibc

/// Implements the interface methods for named subscribers.
///
/// Acknowledgements are stored, so they are not lost when the subscriber or crashd restarts.
extension CrashdInterface {
  static func bindSubscribers(in table: inout HandlerTable) {
    table.bind(Methods.Ack.self, CrashdInterface.acknowledge)
    table.bind(Methods.Cursor.self, CrashdInterface.subscriberCursor)
    table.bind(Methods.Subscribers.self, CrashdInterface.subscribers)
    table.bind(Methods.Unsubscribe.self, CrashdInterface.forget)
  }

  private static let nameLimitBytes = 64

  /// Checks a subscriber's name.
  ///
  /// The name must consist of letters, digits, `.`, `-` and `_`.
  func checked(subscriber name: String) throws(ProtocolError) -> String {
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

  /// Returns the user ID of the subscriber's owner.
  ///
  /// By default, the owner is the user of the caller. Only a caller with access to all crashes can specify another
  /// user.
  private func owner(of name: String, _ uid: Int?, _ client: Client) throws(ProtocolError) -> UInt32 {
    guard let given = try checked(uid, "uid", in: 0...Int(UInt32.max)) else { return client.peer.uid }
    let uid = UInt32(given)
    guard client.visibility.includes(Peer(pid: 0, uid: uid)) else { throw .noSuchSubscriber(name) }
    return uid
  }

  func acknowledge(_ parameters: Methods.Ack.Parameters, _ client: Client) throws(ProtocolError) -> Methods.Ack.Reply {
    let name = try checked(subscriber: parameters.subscriber)
    guard let cursor = try self.cursor(parameters.cursor) else { throw .invalidParameter("cursor") }
    let uid = try owner(of: name, parameters.uid, client)
    let reached = try reading { () throws(StoreError) in
      try store.acknowledge(cursor, subscriber: name, uid: uid, at: Moment.now().description)
    }
    return Methods.Ack.Reply(cursor: reached.description)
  }

  func subscriberCursor(_ parameters: SubscriberName, _ client: Client) throws(ProtocolError) -> Methods.Cursor.Reply {
    let name = try checked(subscriber: parameters.subscriber)
    let uid = try owner(of: name, parameters.uid, client)
    let reached = try reading { () throws(StoreError) in try store.cursor(ofSubscriber: name, uid: uid) }
    return Methods.Cursor.Reply(cursor: reached.description)
  }

  func forget(_ parameters: SubscriberName, _ client: Client) throws(ProtocolError) -> NoParameters {
    if client.visibility == .all, parameters.subscriber.hasPrefix(ForwardSettings.subscriberPrefix) {
      // Subscribers with this prefix are crashd's own forwarders and always belong to crashd's user, so call
      // `owner(of:_:_:)` only for its access check, and ignore its result.
      _ = try owner(of: parameters.subscriber, parameters.uid, client)
      let path = parameters.subscriber.dropFirst(ForwardSettings.subscriberPrefix.count)
      // A collector in the settings cannot be removed as a subscriber, because its forwarder would add the subscriber
      // again immediately, without the cursor.
      if forwards.all[String(path)] != nil { throw .subscriberInUse(String(parameters.subscriber.prefix(128))) }
      try reading { () throws(StoreError) in try store.forget(subscriber: parameters.subscriber, uid: geteuid()) }
      return NoParameters()
    }
    let name = try checked(subscriber: parameters.subscriber)
    let uid = try owner(of: name, parameters.uid, client)
    try reading { () throws(StoreError) in try store.forget(subscriber: name, uid: uid) }
    return NoParameters()
  }

  func subscribers(_: NoParameters, _ client: Client) throws(ProtocolError) -> Methods.Subscribers.Reply {
    Methods.Subscribers.Reply(
      subscribers: try reading { () throws(StoreError) in try store.subscribers(visibility: client.visibility) })
  }

  /// Adds a metric with the lag of each named subscriber.
  ///
  /// Collectors in the settings are excluded, because another metric contains their lag.
  func addSubscribers(
    to metrics: inout OpenMetrics, _ visibility: Visibility
  ) throws(ProtocolError) {
    let found = try reading { () throws(StoreError) in try store.subscribers(visibility: visibility) }
    metrics.add(
      "crashd_subscriber_behind", .gauge, "Events that a named subscriber has not acknowledged yet.",
      by: ["name", "uid"],
      found.filter { !$0.name.hasPrefix(ForwardSettings.subscriberPrefix) }.map {
        ([$0.name, "\($0.uid)"], $0.behind ?? 0)
      })
  }
}
