import Glibc

extension Collection<UInt8> {
  /// Whether these bytes contain `part`.
  ///
  /// Compares with the functions of libc: in a debug build, `firstRange(of:)` needs a second for a ring's megabyte.
  public func contains(bytes part: some Collection<UInt8>) -> Bool {
    let (whole, part) = (ContiguousArray(self), ContiguousArray(part))
    guard let first = part.first else { return true }
    // memchr and memcmp read only the two arrays, whose buffers are valid in the closures.
    return unsafe whole.withUnsafeBytes { whole in
      unsafe part.withUnsafeBytes { part in
        guard var place = whole.baseAddress, let wanted = part.baseAddress else { return false }
        let end = unsafe place + whole.count
        while let found = unsafe memchr(place, Int32(first), end - place),
          unsafe end - UnsafeRawPointer(found) >= part.count
        {
          if unsafe memcmp(found, wanted, part.count) == 0 { return true }
          unsafe place = UnsafeRawPointer(found) + 1
        }
        return false
      }
    }
  }
}
