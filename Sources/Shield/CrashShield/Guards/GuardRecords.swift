internal import CShim

/// Copies the faults that guards recorded to the ring, the memory that crashd reads.
package enum GuardRecords {
  /// Copies those occurrences of a record to the ring that are not in the ring yet.
  ///
  /// Precondition: the record belongs to `CShim`, which never frees its records.
  package static func publish(_ record: OpaquePointer) {
    var incident: UnsafePointer<cs_ring_incident>?
    // Invariant: the incident is part of the record, which is never freed.
    let times = unsafe cs_guard_take_unpublished(record, &incident)
    guard times > 0, let incident = unsafe incident else { return }
    if unsafe incident.pointee.kind == UInt32(CS_GUARD_KIND_HANDLE) { return }
    if !(unsafe cs_shim_incident_times(incident, times)) { unsafe cs_guard_give_back(record, times) }
  }

  /// Publishes the faults that guards recorded before the start of the shield.
  static func publishAll() {
    for place in 0..<UInt32(CS_GUARD_SITES) {
      if let record = unsafe cs_guard_at(place) { unsafe publish(record) }
    }
  }
}
