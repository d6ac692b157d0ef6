/// Suggests the number of slots for one class alone, before a budget is split.
public enum SlotSuggestion: Sendable {
  /// The least number of slots at the start.
  ///
  /// The shields for iOS used this number.
  public static let least = 50.0
  /// The highest number of slots at the start.
  public static let most = 4_096.0

  /// The slots that keep an object for one second, within the limits.
  ///
  /// They are suggested for a class without hits.
  public static func initial(deallocationsPerSecond: Double) -> Int {
    Int(clamping: min(max(deallocationsPerSecond.amount, least), most).rounded(.up))
  }

  /// The slots that catch this share of the accesses; nil if there are no hits.
  public static func slots(catching share: Double, delays: DelayDistribution, deallocationsPerSecond: Double) -> Int? {
    guard let delay_s = delays.quantile(share) else { return nil }
    return Int(clamping: max(1, deallocationsPerSecond.amount * delay_s).rounded(.up))
  }
}
