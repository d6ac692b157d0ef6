import CrashRing
import CrashSymbols

/// Answers what function stands at an address of an image.
protocol SymbolLookup: Sendable {
  /// Innermost first, inlined ones included; empty when unknown.
  func frames(buildID: String, linkAddress: UInt64) -> [SourceFrame]
}

/// Answers from caches that are open.
struct OpenCaches: SymbolLookup {
  /// Those that were asked for, found or not.
  var buildIDs: Set<String> = []
  var caches: [String: SymbolCache] = [:]

  func frames(buildID: String, linkAddress: UInt64) -> [SourceFrame] {
    caches[buildID]?.frames(at: linkAddress) ?? []
  }
}

extension CrashRecord.Frame {
  /// The address to look up: a return address stands behind its call, thus one byte before it is still in it.
  func linkAddress(in image: RingContents.Image) -> UInt64 {
    (isExact ? pc : pc &- 1) &- image.bias
  }
}

extension RingContents {
  /// The build ids of the images that the records' frames lie in.
  var buildIDsOfFrames: Set<String> {
    let frames = records.map(\.frames) + threads.map(\.frames)
    let used = Set(frames.flatMap { $0.compactMap(\.image) } + replacedHandlers.compactMap(\.image))
    return Set(images.filter { used.contains($0.index) && !$0.buildID.isEmpty }.map(\.buildID))
  }
}
