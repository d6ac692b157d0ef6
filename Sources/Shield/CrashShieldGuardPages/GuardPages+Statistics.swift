internal import CShimGuardPages

extension GuardPages {
  /// What was counted since the first class was protected; of a forked child since the fork.
  public struct Statistics: Sendable, Hashable {
    /// How many slots there may be.
    public var slots: Int
    /// One in so many allocations is drawn.
    public var oneIn: Int
    /// Allocations that got a slot.
    public var allocated: Int
    /// Objects of protected classes whose page was closed when they were freed.
    public var guarded: Int
    /// Allocations in slots that had the size of a protected class and were none of its objects.
    public var others: Int
    /// Allocations that were drawn and found no free slot.
    public var withoutSlot: Int
    /// Allocations and frees where the system refused to change what may be done with a page.
    public var withoutPage: Int
    /// Objects that were freed without being guarded, because somebody has taken SIGSEGV from the shield.
    public var unarmed: Int
    /// Uses of memory that was not to be used.
    public var incidents: Int
    /// Pages that were opened again; their slots are not used any more.
    public var opened: Int
  }

  /// What was counted.
  ///
  /// Any thread.
  public static var statistics: Statistics {
    var counts = cs_pages_counts()
    // It fills in the structure.
    unsafe cs_pages_count(&counts)
    return Statistics(
      slots: Int(counts.slots), oneIn: Int(counts.one_in), allocated: Int(clamping: counts.allocated),
      guarded: Int(clamping: counts.guarded), others: Int(clamping: counts.others),
      withoutSlot: Int(clamping: counts.no_slot), withoutPage: Int(clamping: counts.no_page),
      unarmed: Int(clamping: counts.unarmed), incidents: Int(clamping: counts.incidents),
      opened: Int(clamping: counts.opened))
  }
}
