import CrashReport
import CrashRing
import CrashSymbols
import LinuxSystem

/// Selects the threads of a ring that are unwound again, and the images that the unwinder possibly needs for these
/// threads.
struct UnwindQuestion {
  private let architecture: Architecture
  /// The first crashed threads whose records contain a copy of the stack; at most eight threads.
  let records: [CrashRecord]
  /// The images into which a register or a stack word of `records` points.
  ///
  /// Every return address is a stack word, so the unwinder needs no other images.
  let images: [RingContents.Image]

  /// Returns nil if the ring has no stack to unwind.
  init?(_ contents: RingContents) {
    let architecture = contents.identity.architecture
    self.architecture = architecture
    records = Array(
      contents.records.sorted { $0.sequence < $1.sequence }
        .filter { $0.registers.count == architecture.registerCount && !$0.stack.isEmpty && !$0.isMinimal }
        .prefix(UnwindRequest.threadLimit))
    guard !records.isEmpty else { return nil }
    // Sort the images by their start. In a real process, images never overlap. If the ring nevertheless has overlapping
    // images, crash-analyse uses the first of them.
    let sorted = contents.images.filter { $0.start < $0.end }.sorted { $0.start < $1.start }
    var pointed = Set<Int>()
    for record in records {
      // Remove the pointer authentication code, which a stored return address can contain on AArch64.
      for word in record.registers + Self.words(of: record) {
        Self.note(architecture.unsigned(word), in: sorted, &pointed)
      }
    }
    images = sorted.indices.filter(pointed.contains).map { sorted[$0] }
  }

  /// Returns the aligned 8-byte words in the record's copy of the stack.
  private static func words(of record: CrashRecord) -> [UInt64] {
    let start = Int(truncatingIfNeeded: (8 &- record.stackStart & 7) & 7)
    return unsafe record.stack.withUnsafeBytes { stack in
      // Invariant: each word ends at or before the end of the stack.
      stride(from: start, through: stack.count - 8, by: 8).map {
        unsafe stack.loadUnaligned(fromByteOffset: $0, as: UInt64.self)
      }
    }
  }

  private static func note(_ word: UInt64, in images: [RingContents.Image], _ pointed: inout Set<Int>) {
    var (low, high) = (0, images.count)
    while low < high {
      let middle = (low + high) / 2
      if word < images[middle].start {
        high = middle
      } else if word > images[middle].end {
        low = middle + 1
      } else {
        pointed.insert(middle)
        return
      }
    }
  }

  /// Builds the input of crash-analyse.
  ///
  /// The input includes the unwind tables of the images, up to `limitBytes` in total.
  func request(tables: [String: Descriptor], limitBytes: Int) throws -> MemoryFile {
    let file = try MemoryFile()
    var end = UnwindRequest.headerBytes(
      threads: records.count, images: images.count, architecture: Self.encoded(architecture))
    var request = UnwindRequest(architecture: Self.encoded(architecture), threads: [], images: [])
    for record in records {
      try file.write(record.stack, at: end)
      request.threads.append(thread(record, UnwindRequest.Place(offset: UInt64(end), size: UInt64(record.stack.count))))
      end += record.stack.count
    }
    // The tables of a build ID are added only once, because several images can have the same build ID.
    var places: [String: UnwindRequest.Place] = [:]
    for image in images {
      var place = places[image.buildID] ?? UnwindRequest.Place(offset: 0, size: 0)
      if place.size == 0, let table = tables[image.buildID] {
        let size = try file.copy(table, at: end, limitBytes: min(UnwindTablesHeader.fileLimitBytes, limitBytes - end))
        if let size { place = UnwindRequest.Place(offset: UInt64(end), size: UInt64(size)) }
        end += size ?? 0
        places[image.buildID] = place
      }
      request.images.append(
        UnwindRequest.Image(start: image.start, end: image.end, bias: image.bias, tables: place))
    }
    try file.write(request.encoded, at: 0)
    // The child receives a writable descriptor. Therefore, seal the file before the child starts, so that a compromised
    // child cannot make the file larger.
    try file.seal(staysWritable: false)
    return file
  }

  private static func encoded(_ architecture: Architecture) -> UnwindRequest.Architecture {
    switch architecture {
    case .x86_64: .x86_64
    case .aarch64: .aarch64
    }
  }

  private func thread(_ record: CrashRecord, _ place: UnwindRequest.Place) -> UnwindRequest.Thread {
    // After a breakpoint of x86-64, pc points after the instruction. On AArch64, pc always points to the instruction.
    UnwindRequest.Thread(
      registers: record.registers, isBadFetch: record.showsBadFetch,
      isPastFault: architecture == .x86_64 && record.trapNumber == 3,
      stackStart: record.stackStart, stack: place)
  }
}
