internal import CShimGuardPages

extension GuardPages {
  /// Counters since the first class was protected, or since the fork in a forked child.
  public struct Statistics: Sendable, Hashable {
    /// The maximum number of slots; a slot is a page for one sampled object.
    public var slots: Int
    /// The sample rate: one in `oneIn` allocations is sampled.
    public var oneIn: Int
    /// The number of allocations that got a slot.
    public var allocated: Int
    /// The number of objects of protected classes whose page was made inaccessible when the object was freed.
    public var guarded: Int
    /// The number of sampled allocations that have the size of a protected class's objects, but are not objects of this
    /// class.
    public var others: Int
    /// The number of sampled allocations that found no free slot.
    public var withoutSlot: Int
    /// The number of allocations and frees for which the system refused to change the protection of the page.
    public var withoutPage: Int
    /// The number of objects whose page stayed accessible when the object was freed, because another handler has
    /// replaced the shield's SIGSEGV handler.
    public var unarmed: Int
    /// The number of invalid accesses to guarded memory.
    public var incidents: Int
    /// The number of pages that were made accessible again after an invalid access; the slots of these pages are not
    /// used again.
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
