import CrashRing
import CrashSymbols

/// Symbolicates the addresses of an image.
protocol SymbolLookup: Sendable {
  /// Returns the functions at an address, including inlined functions, innermost first; empty if they are unknown.
  func frames(buildID: String, linkAddress: UInt64) -> [SourceFrame]
  /// Returns the reason why the symbols of a build are incomplete; nil if no reason is known.
  func gap(buildID: String) -> SymbolGap?
}

extension SymbolLookup {
  func gap(buildID: String) -> SymbolGap? { nil }
}

/// Symbolicates addresses with open symbol caches.
struct OpenCaches: SymbolLookup {
  /// The link addresses (addresses in the image file) that were requested, whether or not they have a symbol, by build
  /// ID.
  var asked: [String: Set<UInt64>] = [:]
  var caches: [String: SymbolCache] = [:]
  var gaps: [String: SymbolGap] = [:]
  /// The function names that crashd must not demangle, because a child process crashed or took too long when it
  /// demangled them.
  var unreadable: Set<String> = []

  /// The names of the functions at the requested addresses.
  var names: Set<String> {
    Set(
      asked.flatMap { buildID, addresses in
        addresses.flatMap { address in caches[buildID]?.frames(at: address).map(\.mangled) ?? [] }
      })
  }

  var buildIDs: Set<String> { Set(asked.keys) }

  /// Whether all addresses in `wanted` were requested when the caches were opened.
  ///
  /// A cache that was built for one crash covers only the requested addresses, and crashd has checked only for the
  /// names at these addresses whether it can demangle them safely.
  func cover(_ wanted: [String: Set<UInt64>]) -> Bool {
    wanted.allSatisfy { buildID, addresses in
      guard let known = asked[buildID] else { return false }
      return caches[buildID] == nil || addresses.isSubset(of: known)
    }
  }

  func frames(buildID: String, linkAddress: UInt64) -> [SourceFrame] {
    // Return no names for addresses that were not requested, because crashd has not checked whether it can demangle the
    // names there.
    guard asked[buildID]?.contains(linkAddress) == true, let cache = caches[buildID] else { return [] }
    return cache.framesWithNearestLines(at: linkAddress).map { frame in
      guard unreadable.contains(frame.mangled) else { return frame }
      var shown = frame
      // Add the prefix `?` to the name, so that every demangler rejects it.
      shown.mangled = "?" + frame.mangled
      return shown
    }
  }

  func gap(buildID: String) -> SymbolGap? { gaps[buildID] }
}

extension CrashRecord.Frame {
  /// Returns the link address with which crashd looks up the function name of a frame.
  ///
  /// A return address is the address after the call instruction. Therefore, the result is the return address minus 1,
  /// which is inside the call instruction.
  func linkAddress(in image: RingContents.Image) -> UInt64 {
    (isExact ? pc : pc &- 1) &- image.bias
  }
}

extension RingContents {
  /// The link addresses of all frames in the ring, by build ID.
  ///
  /// The frames come from crash records, from the stacks of the other threads, from the stacks that guard pages and the
  /// quarantine recorded, and from earlier incidents. The addresses of signal handlers that replaced the shield's
  /// handlers are included, too.
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
