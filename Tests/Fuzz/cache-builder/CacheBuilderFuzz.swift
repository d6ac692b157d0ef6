// libFuzzer's entry: an input is an ELF file, of which a cache is made as crash-analyse makes it, all of it or for some
// addresses; what was written must be a whole cache, and is asked for addresses. scripts/fuzz/elf builds it.
import CrashSymbolBuilder
import Glibc

@testable import CrashSymbols

/// Files without names, for every input in turn; a cache stays mapped while the next one is made.
private let image = makeFile()
private let outputs = (makeFile(), makeFile())

private func makeFile() -> Int32 {
  var path = Array("/dev/shm/cache-builder-XXXXXX".utf8CString)
  let descriptor = mkstemp(&path)
  precondition(descriptor >= 0 && unlink(path) == 0)
  return descriptor
}

/// Where the functions of most seeds stand.
private let addresses: [UInt64] = [0x1000, 0x1010, 0x1234, 0x2000]

/// One input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCacheBuilder(_ data: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
  precondition(ftruncate(image, 0) == 0 && pwrite(image, data, count, 0) == count)
  let whole = build(nil, outputs.0)
  let some = build(addresses, outputs.1)
  // What is known of an address does not depend on what else was asked.
  if let whole, let some, !whole.isIncomplete, !some.isIncomplete {
    for address in addresses where whole.frames(at: address).isEmpty {
      precondition(some.frames(at: address).isEmpty)
    }
  }
  return 0
}

/// The cache; nil when the image is none that can be used.
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
      // crashd demangles these: the builder has left out what no demangler is to meet.
      for frame in frames where !frame.mangled.isEmpty { precondition(Demangler.isReasonable(frame.mangled)) }
    }
    return cache
  } catch {
    preconditionFailure("the builder wrote what the reader refuses: \(error)")
  }
}
