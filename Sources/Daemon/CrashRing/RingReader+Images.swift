internal import CShimRing
internal import CrashReport

extension RingReader {
  /// Returns the valid entries of the image table.
  ///
  /// `total` is the number of images that the process loaded.
  func images(total: UInt32, losses: inout Losses) -> [RingContents.Image] {
    let header = unsafe shared.baseAddress?.assumingMemoryBound(to: cs_ring_header.self)
    // The header is at offset 0 of a ring whose size was checked.
    guard let header = unsafe header else { return [] }
    let count = unsafe min(Int(clamping: cs_ring_image_count_acquire(header)), RingLayout.imageLimit)

    var images: [RingContents.Image] = []
    for index in 0..<count {
      let entry = unsafe PrivateCopy<cs_ring_image>(of: shared, at: RingLayout.image(index))
      if let image = image(entry, index: index) { images.append(image) }
    }
    losses.add(.images, max(Int(clamping: total), count) - images.count)
    return images
  }

  private func image(_ entry: PrivateCopy<cs_ring_image>, index: Int) -> RingContents.Image? {
    let (start, end, bias) = (entry[\.start], entry[\.end], entry[\.bias])
    // A bias above the start would result in negative link addresses.
    guard start < end, bias <= start, entry[\.build_id_bytes] <= CS_RING_BUILD_ID_LIMIT_BYTES else { return nil }
    let flags = entry[\.flags]
    let isVdso = flags & CS_RING_IMAGE_VDSO != 0
    return RingContents.Image(
      index: index, bias: bias, start: start, end: end,
      buildID: hexadecimal(entry.bytes(\.build_id, count: entry[\.build_id_bytes])),
      path: isVdso ? "[vdso]" : CleanText.line(entry.text(zeroTerminated: \.path)),
      isExecutable: flags & CS_RING_IMAGE_EXECUTABLE != 0)
  }
}

/// Finds the image of an address.
struct ImageTable {
  private let images: [RingContents.Image]
  private let byIndex: [Int: RingContents.Image]

  /// Creates a table of at most `RingLayout.imageLimit` images.
  init(_ images: [RingContents.Image]) {
    self.images = images
    byIndex = Dictionary(images.map { ($0.index, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns the table index of the image that contains `address`.
  ///
  /// This is `hint` if that image contains the address. Otherwise it is the image that was loaded last, because an
  /// image may have replaced an unloaded one.
  func index(of address: UInt64, hint: UInt16) -> Int? {
    if let image = byIndex[Int(hint)], image.start <= address, address < image.end { return image.index }
    return images.last { $0.start <= address && address < $0.end }?.index
  }
}
