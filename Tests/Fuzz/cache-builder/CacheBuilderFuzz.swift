// The entry point for libFuzzer. An input is an ELF file. The target (the code below, which libFuzzer calls for each
// input) builds two symbol caches from the ELF file, as crash-analyse does: one for all addresses, and one for some.
// Then it looks up addresses in each cache, and checks the results. scripts/fuzz/elf builds this target.
import CrashSymbolBuilder
import Glibc

@testable import CrashSymbols

/// Unnamed files that each input overwrites: one for the image, and two for its caches.
///
/// There are two files for caches, because the first cache is still mapped when the target builds the second one.
private let image = makeFile()
private let outputs = (makeFile(), makeFile())

private func makeFile() -> Int32 {
  var path = Array("/dev/shm/cache-builder-XXXXXX".utf8CString)
  let descriptor = mkstemp(&path)
  precondition(descriptor >= 0 && unlink(path) == 0)
  return descriptor
}

/// Addresses at which most seed files have functions.
private let addresses: [UInt64] = [0x1000, 0x1010, 0x1234, 0x2000]

/// Fuzzes one input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCacheBuilder(_ data: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
  precondition(ftruncate(image, 0) == 0 && pwrite(image, data, count, 0) == count)
  let whole = build(nil, outputs.0)
  let some = build(addresses, outputs.1)
  // The result for an address must not depend on the other addresses that the target requested.
  if let whole, let some, !whole.isIncomplete, !some.isIncomplete {
    for address in addresses where whole.frames(at: address).isEmpty {
      precondition(some.frames(at: address).isEmpty)
    }
  }
  return 0
}

/// Builds the cache, or returns nil if the image cannot be used.
private func build(_ addresses: [UInt64]?, _ output: Int32) -> SymbolCache? {
  precondition(ftruncate(output, 0) == 0 && lseek(output, 0, SEEK_SET) == 0)
  do throws(SymbolCacheBuilder.Failure) {
    try SymbolCacheBuilder.build(image: image, buildID: "", addresses: addresses, output: output)
  } catch {
    if case .badImage(let problem) = error { precondition(!problem.isEmpty) }
    return nil
  }
  do throws(SymbolCacheError) {
    let cache = try SymbolCache(path: "/proc/self/fd/\(output)", buildID: "")
    precondition(cache.isPartial == (addresses != nil))
    for address in [cache.header.base] + (addresses ?? []) {
      let frames = cache.frames(at: address)
      precondition(frames.count <= SymbolCacheFormat.chainLimit)
      precondition(frames.isEmpty || frames.last?.isInline == false)
      // crashd demangles these names. Therefore the builder must omit names that a demangler cannot process in bounded
      // time and memory.
      for frame in frames where !frame.mangled.isEmpty { precondition(Demangler.isReasonable(frame.mangled)) }
    }
    return cache
  } catch {
    preconditionFailure("the builder wrote a cache that the reader refuses: \(error)")
  }
}
