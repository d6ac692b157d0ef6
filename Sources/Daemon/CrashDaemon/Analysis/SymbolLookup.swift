import CrashRing
import CrashSymbols

/// Answers what function stands at an address of an image.
protocol SymbolLookup: Sendable {
  /// Innermost first, inlined ones included; empty when unknown.
  func frames(buildID: String, linkAddress: UInt64) -> [SourceFrame]
  /// Why it does not know all of a build; nil when it does, as far as it can tell.
  func gap(buildID: String) -> SymbolGap?
}

extension SymbolLookup {
  func gap(buildID: String) -> SymbolGap? { nil }
}

/// Answers from caches that are open.
struct OpenCaches: SymbolLookup {
  /// The link addresses that were asked for, by build id, found or not.
  var asked: [String: Set<UInt64>] = [:]
  var caches: [String: SymbolCache] = [:]
  var gaps: [String: SymbolGap] = [:]
  /// Names that crashd must not write out.
  var unreadable: Set<String> = []

  /// Those of the functions at the addresses that were asked for.
  var names: Set<String> {
    Set(
      asked.flatMap { buildID, addresses in
        addresses.flatMap { address in caches[buildID]?.frames(at: address).map(\.mangled) ?? [] }
      })
  }

  var buildIDs: Set<String> { Set(asked.keys) }

  /// Whether nothing more can be found for these addresses: a cache that was made in haste knows what was asked only, and
  /// other names are not read.
  func cover(_ wanted: [String: Set<UInt64>]) -> Bool {
    wanted.allSatisfy { buildID, addresses in
      guard let known = asked[buildID] else { return false }
      return caches[buildID] == nil || addresses.isSubset(of: known)
    }
  }

  func frames(buildID: String, linkAddress: UInt64) -> [SourceFrame] {
    // Names that were not asked for were not checked.
    guard asked[buildID]?.contains(linkAddress) == true, let cache = caches[buildID] else { return [] }
    return cache.framesWithNearestLines(at: linkAddress).map { frame in
      guard unreadable.contains(frame.mangled) else { return frame }
      var shown = frame
      // No demangler takes this for a name.
      shown.mangled = "?" + frame.mangled
      return shown
    }
  }

  func gap(buildID: String) -> SymbolGap? { gaps[buildID] }
}

extension CrashRecord.Frame {
  /// The address to look up: a return address stands behind its call, thus one byte before it is still in it.
  func linkAddress(in image: RingContents.Image) -> UInt64 {
    (isExact ? pc : pc &- 1) &- image.bias
  }
}

extension RingContents {
  /// The link addresses of the records' frames, of the stacks that guard slots and the quarantine kept for them, of
  /// what the shield saw before, and of what replaced our handlers, by the build id of their images.
  var addressesOfFrames: [String: Set<UInt64>] {
    let images = Dictionary(images.map { ($0.index, $0) }) { first, _ in first }
    var addresses: [String: Set<UInt64>] = [:]
    func add(_ index: Int?, _ address: (Image) -> UInt64) {
      guard let image = index.flatMap({ images[$0] }), !image.buildID.isEmpty else { return }
      addresses[image.buildID, default: []].insert(address(image))
    }
    for frame in records.flatMap(\.frames) + threads.flatMap(\.frames) + framesOfPages + framesOfGhosts
      + framesOfHistory
    {
      add(frame.image) { frame.linkAddress(in: $0) }
    }
    for handler in replacedHandlers { add(handler.image) { handler.address &- $0.bias } }
    return addresses
  }
}
