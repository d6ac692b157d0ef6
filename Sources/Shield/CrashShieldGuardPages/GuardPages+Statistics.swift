internal import CShimGuardPages

extension GuardPages {
  /// Counters since the first class was protected, or since the fork in a forked child.
  public struct Statistics: Sendable, Hashable {
    /// The maximum number of slots.
    public var slots: Int
    /// The sample rate: one in `oneIn` allocations is sampled.
    public var oneIn: Int
    /// Allocations that got a slot.
    public var allocated: Int
    /// Objects of protected classes whose page was made inaccessible when they were freed.
    public var guarded: Int
    /// Sampled allocations that have the size of a protected class's objects, but are not objects of this class.
    public var others: Int
    /// Sampled allocations that found no free slot.
    public var withoutSlot: Int
    /// Allocations and frees for which the system refused to change the protection of the page.
    public var withoutPage: Int
    /// Objects whose page stayed accessible when they were freed, because another handler has replaced the shield's
    /// SIGSEGV handler.
    public var unarmed: Int
    /// Invalid accesses to guarded memory.
    public var incidents: Int
    /// Pages that were made accessible again after an invalid access; their slots are not used again.
    public var opened: Int
  }

  /// The counters of this process.
  ///
  /// May be read from any thread.
  public static var statistics: Statistics {
    var counts = cs_pages_counts()
    // Invariant: the C function fills in the whole structure.
    unsafe cs_pages_count(&counts)
    return Statistics(
      slots: Int(counts.slots), oneIn: Int(counts.one_in), allocated: Int(clamping: counts.allocated),
      guarded: Int(clamping: counts.guarded), others: Int(clamping: counts.others),
      withoutSlot: Int(clamping: counts.no_slot), withoutPage: Int(clamping: counts.no_page),
      unarmed: Int(clamping: counts.unarmed), incidents: Int(clamping: counts.incidents),
      opened: Int(clamping: counts.opened))
  }
}
