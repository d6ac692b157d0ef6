import CCompression

/// Compresses bodies for tests.
enum Compressed {
  static func gzip(_ bytes: [UInt8]) -> [UInt8] { unsafe compress(bytes, cs_gzip_compress) }
  static func zstd(_ bytes: [UInt8]) -> [UInt8] { unsafe compress(bytes, cs_zstd_compress) }

  private static func compress(
    _ bytes: [UInt8], _ run: (UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<UInt8>?, Int) -> Int
  ) -> [UInt8] {
    // Invariant: the function reads `input.count` bytes and writes at most `output.count`.
    unsafe [UInt8](unsafeUninitializedCapacity: bytes.count + 1_024) { output, count in
      unsafe bytes.withUnsafeBufferPointer { input in
        unsafe count = run(input.baseAddress, input.count, output.baseAddress, output.count)
      }
    }
  }
}
