import CrashRing
import CrashSymbols

/// Symbolicates addresses of an image.
protocol SymbolLookup: Sendable {
  /// The functions, innermost first, with inlined ones; empty when unknown.
  func frames(buildID: String, linkAddress: UInt64) -> [SourceFrame]
  /// Why a build is incomplete; nil when it is complete, as far as known.
  func gap(buildID: String) -> SymbolGap?
}

extension SymbolLookup {
  func gap(buildID: String) -> SymbolGap? { nil }
}

/// Symbolicates from open caches.
struct OpenCaches: SymbolLookup {
  /// The requested link addresses by build id, found or not.
  var asked: [String: Set<UInt64>] = [:]
  var caches: [String: SymbolCache] = [:]
  var gaps: [String: SymbolGap] = [:]
  /// Names that crashd must not demangle.
  var unreadable: Set<String> = []

  /// The names of the functions at the requested addresses.
  var names: Set<String> {
    Set(
      asked.flatMap { buildID, addresses in
        addresses.flatMap { address in caches[buildID]?.frames(at: address).map(\.mangled) ?? [] }
      })
  }

  var buildIDs: Set<String> { Set(asked.keys) }

  /// Whether the caches have everything for these addresses: a partial cache covers only the requested ones, and other
  /// names are not checked.
  func cover(_ wanted: [String: Set<UInt64>]) -> Bool {
    wanted.allSatisfy { buildID, addresses in
      guard let known = asked[buildID] else { return false }
      return caches[buildID] == nil || addresses.isSubset(of: known)
    }
  }

  func frames(buildID: String, linkAddress: UInt64) -> [SourceFrame] {
    // Names that were not requested were not checked.
    guard asked[buildID]?.contains(linkAddress) == true, let cache = caches[buildID] else { return [] }
    return cache.framesWithNearestLines(at: linkAddress).map { frame in
      guard unreadable.contains(frame.mangled) else { return frame }
      var shown = frame
      // No demangler accepts this as a name.
      shown.mangled = "?" + frame.mangled
      return shown
    }
  }

  func gap(buildID: String) -> SymbolGap? { gaps[buildID] }
}

extension CrashRecord.Frame {
  /// The address to symbolicate: a return address is after its call, so one byte before it is still in the call.
  func linkAddress(in image: RingContents.Image) -> UInt64 {
    (isExact ? pc : pc &- 1) &- image.bias
  }
}

extension RingContents {
  /// The link addresses, by build id, of the records' frames, of the stacks of guard pages and the quarantine, of
  /// earlier incidents, and of replaced handlers.
  var addressesOfFrames: [String: Set<UInt64>] {
    let images = Dictionary(images.map { ($0.index, $0) }) { first, _ in first }
    var addresses: [String: Set<UInt64>] = [:]
    func add(_ index: Int?, _ address: (Image) -> UInt64) {
      guard let image = index.flatMap({ images[$0] }), !image.buildID.isEmpty else { return }
      addresses[image.buildID, default: []].insert(address(image))
    }
    for frame in records.flatMap(\.frames) + threads.flatMap(\.frames) + framesOfPages + framesOfFreedRecords
      + framesOfHistory
    {
      add(frame.image) { frame.linkAddress(in: $0) }
    }
    for handler in replacedHandlers { add(handler.image) { handler.address &- $0.bias } }
    return addresses
  }
}
