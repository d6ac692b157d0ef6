import CCompression

/// Decompresses bodies within limits.
struct BodyDecoder: Sendable {
  /// The maximum number of decompressed bytes.
  var limitBytes: Int
  /// The maximum ratio of decompressed bytes to compressed bytes.
  ///
  /// Reports compress to about a tenth of their size. Deflate reaches a ratio of 1,032 and zstd one of 30,000, but only
  /// for decompression bombs.
  private static let ratio = 64
  /// The number of decompressed bytes that even a very small body is allowed to have.
  private static let least = 64 << 10

  /// The content codings that the service accepts.
  static let codings = "gzip, zstd"

  func decode(_ body: [UInt8], encoding: String?) throws(Refusal) -> [UInt8] {
    switch encoding?.lowercased() {
    case nil, "", "identity": return body
    case "gzip", "x-gzip":
      guard let plain = unsafe try decompress(body, cs_gzip_decompress) else {
        throw Refusal(.notGzip, "the body is not gzip, or is damaged")
      }
      return plain
    case "zstd":
      guard let plain = unsafe try decompress(body, cs_zstd_decompress) else {
        throw Refusal(.notZstd, "the body is not zstd, is damaged, or needs a window of more than 8 MiB")
      }
      return plain
    default: throw Refusal(.unknownEncoding, "Content-Encoding must be gzip, zstd or identity")
    }
  }

  /// A function of CCompression: input and its size, output and its size, and the number of written bytes.
  private typealias Decompress = (
    UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<UInt8>?, Int, UnsafeMutablePointer<Int>?
  ) -> cs_decompress_result

  /// Decompresses a body; returns nil if it is malformed.
  private func decompress(_ body: [UInt8], _ run: Decompress) throws(Refusal) -> [UInt8]? {
    let limit = min(limitBytes, max(Self.least, body.count.multipliedReportingOverflow(by: Self.ratio).partialValue))
    var result = CS_DECOMPRESS_MALFORMED
    // Invariant: the function reads `input.count` bytes, writes at most `limit`, and stores the number of written bytes
    // in `count`.
    let output = unsafe [UInt8](unsafeUninitializedCapacity: limit) { output, count in
      unsafe body.withUnsafeBufferPointer { input in
        unsafe result = run(input.baseAddress, input.count, output.baseAddress, limit, &count)
      }
      if result != CS_DECOMPRESS_GOOD { count = 0 }
    }
    switch result {
    case CS_DECOMPRESS_GOOD: return output
    case CS_DECOMPRESS_TOO_LARGE:
      throw Refusal(
        .bodyTooLarge,
        "the decompressed body may have \(limitBytes >> 20) MiB, and \(Self.ratio) bytes for each compressed byte;"
          + " send smaller batches")
    case CS_DECOMPRESS_NO_MEMORY: throw Refusal(.busy, "the service has no memory now; send the batch again later")
    default: return nil
    }
  }
}
