internal import CShimRing

/// Where the parts of the ring stand and how many there can be, as the numbers Swift wants.
enum RingLayout {
  static let size = MemoryLayout<cs_ring>.size

  static let slotLimit = Int(CS_RING_SLOT_LIMIT)
  static let imageLimit = Int(CS_RING_IMAGE_LIMIT)
  static let annotationLimit = Int(CS_RING_ANNOTATION_LIMIT)
  static let breadcrumbLimit = Int(CS_RING_BREADCRUMB_LIMIT)

  static func image(_ index: Int) -> Int { images + index * MemoryLayout<cs_ring_image>.stride }
  static func annotation(_ index: Int) -> Int { annotations + index * MemoryLayout<cs_ring_annotation>.stride }
  static func breadcrumb(_ index: Int) -> Int { breadcrumbs + index * MemoryLayout<cs_ring_breadcrumb>.stride }
  static func slot(_ index: Int) -> Int { slots + index * MemoryLayout<cs_ring_slot>.stride }

  // Parts of a slot. Swift does not import arrays of more than 4,096 elements; the stack is the slot's last field.
  static let commitTimeInSlot = offset(of: \cs_ring_slot.commit_ns)
  static let crcInSlot = offset(of: \cs_ring_slot.crc)
  static let recordInSlot = offset(of: \cs_ring_slot.record)
  static let stackInSlot = MemoryLayout<cs_ring_slot>.size - Int(CS_RING_STACK_LIMIT_BYTES)

  private static let images = offset(of: \cs_ring.images)
  private static let annotations = offset(of: \cs_ring.annotations)
  private static let breadcrumbs = offset(of: \cs_ring.breadcrumbs)
  private static let slots = offset(of: \cs_ring.slots)

  private static func offset<Layout>(of field: PartialKeyPath<Layout>) -> Int {
    guard let offset = MemoryLayout<Layout>.offset(of: field) else {
      preconditionFailure("BUG: \(field) is no stored field")
    }
    return offset
  }
}
