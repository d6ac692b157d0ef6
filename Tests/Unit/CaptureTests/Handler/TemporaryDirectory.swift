import CTestKit
import Testing

/// No directory could be made under /tmp.
struct NoDirectory: Error {}

/// Calls `body` with the path of a new directory under /tmp, short enough for a Unix socket in it, and removes it.
func withTemporaryDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
  // The support library gives the text to us: it stays until it is removed below.
  guard let text = unsafe cs_test_make_directory() else { throw NoDirectory() }
  defer {
    // The text came from cs_test_make_directory() and is not used any more.
    let isRemoved = unsafe cs_test_remove_directory(text)
    #expect(isRemoved)
  }
  // It ends with a zero byte.
  return try body(unsafe String(cString: text))
}
