internal import CShimGuardPages

extension GuardPages {
  /// Counters since the first class was protected; in a forked child since the fork.
  public struct Statistics: Sendable, Hashable {
    /// The maximum number of slots.
    public var slots: Int
    /// The sample rate: one in so many allocations is sampled.
    public var oneIn: Int
    /// Allocations that got a slot.
    public var allocated: Int
    /// Objects of protected classes whose page became inaccessible when they were freed.
    public var guarded: Int
    /// Allocations in slots that had the size of a protected class, but were no objects of it.
    public var others: Int
    /// Sampled allocations that found no free slot.
    public var withoutSlot: Int
    /// Allocations and frees whose page protection the system refused to change.
    public var withoutPage: Int
    /// Objects that were freed without being guarded, because another handler has replaced the shield's for SIGSEGV.
    public var unarmed: Int
    /// Invalid accesses to guarded memory.
    public var incidents: Int
    /// Pages that became accessible again after an access; their slots are not used again.
    public var opened: Int
  }

  /// The counters of this process.
  ///
  /// Any thread.
  public static var statistics: Statistics {
    var counts = cs_pages_counts()
    // The C function fills in the structure.
    unsafe cs_pages_count(&counts)
    return Statistics(
      slots: Int(counts.slots), oneIn: Int(counts.one_in), allocated: Int(clamping: counts.allocated),
      guarded: Int(clamping: counts.guarded), others: Int(clamping: counts.others),
      withoutSlot: Int(clamping: counts.no_slot), withoutPage: Int(clamping: counts.no_page),
      unarmed: Int(clamping: counts.unarmed), incidents: Int(clamping: counts.incidents),
      opened: Int(clamping: counts.opened))
  }
}
