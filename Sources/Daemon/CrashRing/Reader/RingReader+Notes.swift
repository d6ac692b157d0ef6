internal import CShimRing
internal import CrashReport

/// Reads the program's annotations and breadcrumbs.
extension RingReader {
  /// Returns the annotations that the program wrote completely.
  ///
  /// An entry with an empty value means that the program removed the annotation, so it is omitted.
  func annotations(losses: inout Losses) -> [String: String] {
    var annotations: [String: String] = [:]
    for index in 0..<RingLayout.annotationLimit {
      switch annotation(index) {
      case .unused: break
      case .lost: losses.add(.annotations, 1)
      case .whole(let key, let value): annotations[key] = value
      }
    }
    return annotations
  }

  /// Returns the annotations in the first entries, which include all annotations that the process read from its
  /// environment.
  ///
  /// The process writes these annotations when it starts, before the program can set any.
  public func firstAnnotations() -> [String: String] {
    var annotations: [String: String] = [:]
    for index in 0..<Self.firstAnnotationCount {
      if case .whole(let key, let value) = annotation(index) { annotations[key] = value }
    }
    return annotations
  }

  private static let firstAnnotationCount = 8

  /// Returns the breadcrumbs that the program wrote completely, oldest first.
  func breadcrumbs(losses: inout Losses) -> [RingContents.Breadcrumb] {
    var found: [(ticket: UInt64, crumb: RingContents.Breadcrumb)] = []
    for index in 0..<RingLayout.breadcrumbLimit {
      switch breadcrumb(index) {
      case .unused: break
      case .lost: losses.add(.breadcrumbs, 1)
      case .whole(let ticket, let crumb): found.append((ticket, crumb))
      }
    }
    return found.sorted { $0.ticket < $1.ticket }.map(\.crumb)
  }

  enum Note<First, Second> {
    case unused
    case lost
    case whole(First, Second)
  }

  func annotation(_ index: Int) -> Note<String, String> {
    let offset = RingLayout.annotation(index)
    // The static assertions on the ring layout ensure that entry `index` is inside the ring and aligned.
    guard mayBeUsed(offset),
      let entry = unsafe shared.baseAddress?.advanced(by: offset)
        .assumingMemoryBound(to: cs_ring_annotation.self)
    else { return .unused }
    for _ in 0..<readAttempts {
      let before = unsafe cs_ring_annotation_sequence_acquire(entry)
      if before == 0 { return .unused }
      let copy = unsafe PrivateCopy<cs_ring_annotation>(of: shared, at: offset)
      guard before % 2 == 0, unsafe cs_ring_annotation_sequence_recheck(entry) == before else { continue }

      guard copy[\.key_bytes] <= CS_RING_KEY_LIMIT_BYTES, copy[\.value_bytes] <= CS_RING_VALUE_LIMIT_BYTES
      else { return .lost }
      let key = CleanText.line(copy.text(\.key, count: copy[\.key_bytes]))
      let value = copy.text(\.value, count: copy[\.value_bytes])
      return key.isEmpty || value.isEmpty ? .unused : .whole(key, value)
    }
    return .lost
  }

  private func breadcrumb(_ index: Int) -> Note<UInt64, RingContents.Breadcrumb> {
    let offset = RingLayout.breadcrumb(index)
    // The static assertions on the ring layout ensure that entry `index` is inside the ring and aligned.
    guard mayBeUsed(offset),
      let entry = unsafe shared.baseAddress?.advanced(by: offset)
        .assumingMemoryBound(to: cs_ring_breadcrumb.self)
    else { return .unused }
    for _ in 0..<readAttempts {
      // A sequence of 0 means that the entry was never used, or that the process is replacing it. In the second case,
      // only the oldest breadcrumb is missing, which the new one overwrites.
      let before = unsafe cs_ring_breadcrumb_sequence_acquire(entry)
      if before == 0 { return .unused }
      let copy = unsafe PrivateCopy<cs_ring_breadcrumb>(of: shared, at: offset)
      guard unsafe cs_ring_breadcrumb_sequence_recheck(entry) == before else { continue }

      let ticket = before - 1
      guard ticket % UInt64(RingLayout.breadcrumbLimit) == UInt64(index),
        let crumb = RingContents.Breadcrumb(copy, version)
      else { return .lost }
      return .whole(ticket, crumb)
    }
    return .lost
  }
}

extension RingContents.Breadcrumb {
  /// Returns nil if the sum of the lengths exceeds the size of the entry.
  ///
  /// A level of 0 or a length of 0 means that the program did not set the field. Older versions of the library never
  /// write these fields.
  fileprivate init?(_ copy: PrivateCopy<cs_ring_breadcrumb>, _ version: RingVersion) {
    let (text, category) = (Int(clamping: copy[\.text_bytes]), Int(copy[\.category_bytes]))
    let metadata = Int(copy[\.metadata_bytes])
    let limit = version.breadcrumbLimitBytes
    // Check `text` alone first, so that the sum cannot overflow.
    guard text <= limit, text + category + metadata <= limit else { return nil }
    let bytes = copy.bytes(from: \.text, count: text + category + metadata)
    let request = version == .current ? copy[\.request] : 0
    self.init(
      time_ns: copy[\.time_ns], text: CleanText.decode(bytes.prefix(text)), level: Self.level(copy[\.level]),
      category: CleanText.line(CleanText.decode(bytes.dropFirst(text).prefix(category))),
      metadata: [String: String](pairs: bytes.dropFirst(text + category)), request: request == 0 ? nil : request)
  }

  private static func level(_ number: UInt8) -> CrashReport.Breadcrumb.Level? {
    if number == 0 { return nil }
    let known = CrashReport.Breadcrumb.Level.all
    return Int(number) <= known.count ? known[Int(number) - 1] : .init("\(number)")
  }
}

/// The number of attempts to read a part of the ring, if the process changes this part during each attempt.
///
/// If the last attempt also fails, the part is counted as lost.
let readAttempts = 4
