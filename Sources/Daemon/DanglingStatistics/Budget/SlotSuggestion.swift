/// Suggests the number of slots for one class, without considering other classes and the budget.
public enum SlotSuggestion: Sendable {
  /// The minimum of the initial number of slots for a class.
  ///
  /// The number comes from earlier versions of this library, for iOS.
  public static let least = 50.0
  /// The maximum of the initial number of slots for a class.
  public static let most = 4_096.0

  /// Returns the number of slots with which an object stays in quarantine for one second, limited by `least` and
  /// `most`.
  ///
  /// This number is suggested for a class without hits (detected use-after-free accesses).
  public static func initial(deallocationsPerSecond: Double) -> Int {
    Int(clamping: min(max(deallocationsPerSecond.amount, least), most).rounded(.up))
  }

  /// Returns the number of slots that catch the given share of the accesses; nil if the class has no hits.
  public static func slots(catching share: Double, delays: DelayDistribution, deallocationsPerSecond: Double) -> Int? {
    guard let delay_s = delays.quantile(share) else { return nil }
    return Int(clamping: max(1, deallocationsPerSecond.amount * delay_s).rounded(.up))
  }
}
