import CLibdw
import CrashSymbols

/// An ELF image of the requested build, which is open until `close()`.
///
/// Safe: the pointer is private, and no code uses it after ``close()``.
@safe
struct OpenImage {
  let pointer: OpaquePointer
  /// The build id of the image.
  ///
  /// The build id is empty if the image has none.
  let buildID: [UInt8]

  /// Opens the image behind a descriptor, which must stay open as long as the image.
  ///
  /// The parameter `wanted` is the required build id, in lower-case hexadecimal digits. An empty `wanted` accepts any
  /// image.
  init(_ descriptor: Int32, buildID wanted: String) throws(SymbolCacheBuilder.Failure) {
    var problem = cs_image_problem()
    // Invariant: `problem` outlives the call.
    guard let image = unsafe cs_image_open(descriptor, &problem) else { throw .badImage(Self.text(of: problem)) }
    var count = 0
    // Invariant: libelf's bytes are valid as long as the image is open, and are copied immediately.
    let id = unsafe cs_image_read_build_id(image, &count).map {
      unsafe Array(UnsafeBufferPointer(start: $0, count: count))
    }
    unsafe pointer = image
    buildID = id ?? []
    let found = BuildID.text(buildID)
    guard wanted.isEmpty || wanted == found else {
      close()
      throw .wrongBuildID(expected: wanted, found: found)
    }
  }

  func close() { unsafe cs_image_close(pointer) }

  static func text(of problem: cs_image_problem) -> String {
    // Invariant: snprintf has written a NUL within the array.
    unsafe withUnsafeBytes(of: problem.text) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
