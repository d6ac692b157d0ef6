public import CrashProtocol

// Lists and removes named subscribers.
extension CrashClient {
  /// Returns the subscribers of the caller's user, or of all users if the caller has full access.
  /// - Throws: `ClientError`.
  public func subscribers() throws(ClientError) -> [Subscriber] {
    try call(Methods.Subscribers.self, NoParameters()).subscribers
  }

  /// Deletes a subscriber and its position.
  ///
  /// If the subscriber subscribes again, its stream starts with new reports.
  /// - Parameters:
  ///   - name: The subscriber's name. The name of a collector that was removed from the settings is `forward PATH`.
  ///   - uid: The subscriber's user. Nil means the caller's user.
  /// - Throws: `noSuchSubscriber`, `subscriberInUse`, or another `ClientError`.
  public func unsubscribe(_ name: String, uid: Int? = nil) throws(ClientError) {
    _ = try call(Methods.Unsubscribe.self, SubscriberName(subscriber: name, uid: uid))
  }
}
