import CLibdw
import CrashSymbols

/// An ELF image of the requested build, open until it is closed.
///
/// Safe, because the pointer is never used after ``close()``.
@safe
struct OpenImage {
  let pointer: OpaquePointer
  /// Empty when it has none.
  let buildID: [UInt8]

  /// Opens the image behind a descriptor, which stays open as long as the image.
  ///
  /// `wanted` is the required build id, in lower-case hexadecimal digits; empty accepts any image.
  init(_ descriptor: Int32, buildID wanted: String) throws(SymbolCacheBuilder.Failure) {
    var problem = cs_image_problem()
    // The problem outlives the call.
    guard let image = unsafe cs_image_open(descriptor, &problem) else { throw .badImage(Self.text(of: problem)) }
    var count = 0
    // libelf's bytes live as long as the image and are copied at once.
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
    // snprintf has ended the text within the array.
    unsafe withUnsafeBytes(of: problem.text) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
