/// Suggests the number of slots for one class by itself, before a budget is split.
public enum SlotSuggestion: Sendable {
  /// The least a class starts with: the number that the shields for iOS kept.
  public static let least = 50.0
  /// The most a class starts with.
  public static let most = 4_096.0

  /// Slots that keep an object for a second, within the limits: for a class without hits.
  public static func initial(deallocationsPerSecond: Double) -> Int {
    Int(clamping: min(max(deallocationsPerSecond.amount, least), most).rounded(.up))
  }

  /// Slots that catch this share of the accesses; nil while there are no hits.
  public static func slots(catching share: Double, delays: DelayDistribution, deallocationsPerSecond: Double) -> Int? {
    guard let delay_s = delays.quantile(share) else { return nil }
    return Int(clamping: max(1, deallocationsPerSecond.amount * delay_s).rounded(.up))
  }
}
