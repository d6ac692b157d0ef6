// The entry point for libFuzzer. An input is a symbol cache. The target corrects its magic, version, sizes and
// checksum: otherwise the reader would refuse a random file at its first check. scripts/fuzz/elf builds this target.
import Glibc

@testable import CrashSymbols

/// An unnamed file that each input overwrites.
///
/// One file is enough, because no cache outlives the call for its input.
private let file = makeFile()

private func makeFile() -> Int32 {
  var path = Array("/dev/shm/cache-reader-XXXXXX".utf8CString)
  let descriptor = mkstemp(&path)
  precondition(descriptor >= 0 && unlink(path) == 0)
  return descriptor
}

/// Opens the cache and looks up addresses.
///
/// A trap, a finding of a sanitizer or a failed precondition ends the process.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCacheReader(_ data: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
  var bytes = Array(UnsafeBufferPointer(start: data, count: count))
  guard bytes.count > SymbolCacheFormat.headerBytes else { return 0 }
  let isFitted = bytes[0] & 1 == 0
  put(UInt64(SymbolCacheFormat.magic) | UInt64(SymbolCacheFormat.version) << 32, at: 0, &bytes)
  if isFitted { fit(&bytes) }
  let checksum = bytes.withUnsafeBytes { all in
    XXH64.checksum(of: UnsafeRawBufferPointer(rebasing: all[SymbolCacheFormat.checksummedFrom...]))
  }
  put(checksum, at: 8, &bytes)

  let descriptor = file
  precondition(ftruncate(descriptor, 0) == 0 && pwrite(descriptor, bytes, bytes.count, 0) == bytes.count)
  do throws(SymbolCacheError) {
    check(try SymbolCache(path: "/proc/self/fd/\(descriptor)", buildID: ""))
  } catch {
    precondition(!error.description.isEmpty)
  }
  return 0
}

/// Sets the length of the string table from the length of the file, and reduces the other counts until they fit.
private func fit(_ bytes: inout [UInt8]) {
  for offset in stride(from: 28, to: 48, by: 4) {
    bytes[offset + 1] &= 1
    bytes[offset + 2] = 0
    bytes[offset + 3] = 0
  }
  put(0, at: 48, &bytes)
  let words = stride(from: 28, to: 48, by: 4).map { Int(bytes[$0]) | Int(bytes[$0 + 1]) << 8 }
  let used =
    SymbolCacheFormat.headerBytes + words[0] * 4 + words[1] * 5 + words[2] * SymbolCacheFormat.locationBytes
    + words[3] * SymbolCacheFormat.contextBytes + words[4] * SymbolCacheFormat.functionBytes
  guard used <= bytes.count else { return }
  let strings = UInt32(bytes.count - used)
  for index in 0..<4 { bytes[48 + index] = UInt8(truncatingIfNeeded: strings >> UInt32(8 * index)) }
  for index in 52..<60 { bytes[index] &= 0x3f }
  for index in 57..<60 { bytes[index] = 0 }
}

private func put(_ value: UInt64, at offset: Int, _ bytes: inout [UInt8]) {
  for index in 0..<8 { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index)) }
}

private func check(_ cache: SymbolCache) {
  let base = cache.header.base &+ UInt64(cache.header.firstPage) << UInt64(SymbolCacheFormat.pageBits)
  for offset in [0, 1, 7, 0x7f, 0x80, 0xff, 0x1000, 1 << 31, 1 << 32, UInt64.max] {
    let frames = cache.frames(at: base &+ offset)
    precondition(frames.count <= SymbolCacheFormat.chainLimit)
    precondition(frames.allSatisfy { $0.mangled.utf8.count <= 3 * SymbolCacheFormat.textLimitBytes })
    precondition(frames.isEmpty || frames.last?.isInline == false)
  }
  _ = (cache.debugLink, cache.buildID, cache.isPartial, cache.hasDebugInformation, cache.isIncomplete)
}
