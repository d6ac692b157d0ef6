public import CrashProtocol

// Named subscribers.
extension CrashClient {
  /// Those of the caller's user; of all users, where the caller may see them.
  /// - Throws: What kept crashd from answering.
  public func subscribers() throws(ClientError) -> [Subscriber] {
    try call(Methods.Subscribers.self, NoParameters()).subscribers
  }

  /// Forgets a subscriber: when it comes again it begins with what is new then.
  /// - Parameters:
  ///   - name: Its name; `forward PATH` is a collector that the settings name no more.
  ///   - uid: Whose it is; nil: the caller's.
  /// - Throws: `noSuchSubscriber`, `subscriberInUse`, and what kept crashd from doing it.
  public func unsubscribe(_ name: String, uid: Int? = nil) throws(ClientError) {
    _ = try call(Methods.Unsubscribe.self, SubscriberName(subscriber: name, uid: uid))
  }
}
