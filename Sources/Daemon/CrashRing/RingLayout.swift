internal import CShimRing

/// The offsets and limits of the parts of the ring, as Swift integers.
enum RingLayout {
  static let slotLimit = Int(CS_RING_SLOT_LIMIT)
  static let threadLimit = Int(CS_RING_THREAD_LIMIT)
  static let imageLimit = Int(CS_RING_IMAGE_LIMIT)
  static let annotationLimit = Int(CS_RING_ANNOTATION_LIMIT)
  static let breadcrumbLimit = Int(CS_RING_BREADCRUMB_LIMIT)
  static let incidentLimit = Int(CS_RING_INCIDENT_LIMIT)
  static let classLimit = Int(CS_RING_CLASS_LIMIT)
  static let requestLimit = Int(CS_RING_REQUEST_LIMIT)

  static func image(_ index: Int) -> Int { images + index * MemoryLayout<cs_ring_image>.stride }
  static func annotation(_ index: Int) -> Int { annotations + index * MemoryLayout<cs_ring_annotation>.stride }
  static func breadcrumb(_ index: Int) -> Int { breadcrumbs + index * MemoryLayout<cs_ring_breadcrumb>.stride }
  static func incident(_ index: Int) -> Int { incidents + index * MemoryLayout<cs_ring_incident>.stride }
  static func protectedClass(_ index: Int) -> Int { classes + index * MemoryLayout<cs_ring_class>.stride }
  static func slot(_ index: Int) -> Int { slots + index * MemoryLayout<cs_ring_slot>.stride }

  static func thread(_ index: Int) -> Int { threads + index * MemoryLayout<cs_ring_thread>.stride }

  static func request(_ index: Int) -> Int { requests + index * MemoryLayout<cs_ring_request>.stride }

  static let selfTest = offset(of: \cs_ring.header) + offset(of: \cs_ring_header.self_test)

  /// The range that contains the annotations, breadcrumbs and incidents, which are contiguous.
  static let smallTables = annotations..<classes

  // The offsets of the fields of a thread's entry.
  static let crcInThread = offset(of: \cs_ring_thread.crc)
  static let recordInThread = offset(of: \cs_ring_thread.record)

  // Within an incident entry, the offset of the word that is zero if the entry is unused.
  static let sequenceInIncident = offset(of: \cs_ring_incident.sequence)

  // The offsets of the fields of a slot. The offset of the stack must be computed, because Swift does not import arrays
  // of more than 4,096 elements. The stack is the last field of a slot.
  static let commitTimeInSlot = offset(of: \cs_ring_slot.commit_ns)
  static let crcInSlot = offset(of: \cs_ring_slot.crc)
  static let recordInSlot = offset(of: \cs_ring_slot.record)
  static let requestInSlot = offset(of: \cs_ring_slot.request)
  static let requestCRCInSlot = offset(of: \cs_ring_slot.request_crc)
  static let stackBytesInRecord = offset(of: \cs_ring_record.stack_bytes)
  static let stackInSlot = MemoryLayout<cs_ring_slot>.size - Int(CS_RING_STACK_LIMIT_BYTES)

  private static let images = offset(of: \cs_ring.images)
  private static let annotations = offset(of: \cs_ring.annotations)
  private static let breadcrumbs = offset(of: \cs_ring.breadcrumbs)
  private static let incidents = offset(of: \cs_ring.incidents)
  private static let classes = offset(of: \cs_ring.classes)
  private static let slots = offset(of: \cs_ring.slots)
  // The arrays `threads` and `requests` are the last fields of the ring. Swift does not import arrays of their size, so
  // the offsets are computed from the end of the ring.
  private static let threads = requests - threadLimit * MemoryLayout<cs_ring_thread>.size
  private static let requests = RingVersion.current.bytes - requestLimit * MemoryLayout<cs_ring_request>.size

  private static func offset<Layout>(of field: PartialKeyPath<Layout>) -> Int {
    guard let offset = MemoryLayout<Layout>.offset(of: field) else {
      preconditionFailure("BUG: \(field) is not a stored field")
    }
    return offset
  }
}
