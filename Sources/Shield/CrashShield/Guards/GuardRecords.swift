internal import CShim
internal import CShimGuards

/// Publishes the faults that guards recorded to the ring.
package enum GuardRecords {
  /// Publishes the occurrences of a record that the ring does not have yet.
  ///
  /// Precondition: the record is one of `CShimGuards`, which stays as long as the process.
  package static func publish(_ record: OpaquePointer) {
    var incident: UnsafePointer<cs_ring_incident>?
    // The incident is the record's, which stays.
    let times = unsafe cs_guard_take_unpublished(record, &incident)
    guard times > 0, let incident = unsafe incident else { return }
    if unsafe incident.pointee.kind == UInt32(CS_GUARD_KIND_HANDLE) { return }
    if !(unsafe cs_shim_incident_times(incident, times)) { unsafe cs_guard_give_back(record, times) }
  }

  /// Publishes faults from before the start of the shield.
  static func publishAll() {
    for place in 0..<UInt32(CS_GUARD_SITES) {
      if let record = unsafe cs_guard_at(place) { unsafe publish(record) }
    }
  }
}
