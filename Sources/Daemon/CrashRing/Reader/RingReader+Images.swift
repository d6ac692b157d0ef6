internal import CShimRing
internal import CrashReport

extension RingReader {
  /// Returns the valid entries of the image table.
  ///
  /// `total` is the number of images that the process has loaded, including images that did not fit into the table.
  func images(total: UInt32, losses: inout Losses) -> [RingContents.Image] {
    let header = unsafe shared.baseAddress?.assumingMemoryBound(to: cs_ring_header.self)
    // The size of the ring was checked, and the header is at offset 0, so the header is within the ring.
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
    // If the bias were above the start address, link addresses would be negative.
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

/// Finds the image that contains an address.
struct ImageTable {
  private let images: [RingContents.Image]
  private let byIndex: [Int: RingContents.Image]

  /// Creates a table for looking up images.
  ///
  /// There are at most `RingLayout.imageLimit` images.
  init(_ images: [RingContents.Image]) {
    self.images = images
    byIndex = Dictionary(images.map { ($0.index, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns the image table's index of the image that contains `address`.
  ///
  /// The result is `hint` if the image with that index contains the address. Otherwise, if several images contain the
  /// address, the result is the one that was loaded last, because it could have replaced an unloaded image.
  func index(of address: UInt64, hint: UInt16) -> Int? {
    if let image = byIndex[Int(hint)], image.start <= address, address < image.end { return image.index }
    return images.last { $0.start <= address && address < $0.end }?.index
  }
}
