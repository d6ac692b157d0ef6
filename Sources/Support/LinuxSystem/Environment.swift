import Glibc

/// Returns the environment of this process.
public func processEnvironment() -> [String: String] {
  var result: [String: String] = [:]
  // Invariant: environ is an array of C strings that ends with a null pointer, and the code of this package does not
  // change it.
  var next = unsafe environ
  while let entry = unsafe next.pointee {
    let text = unsafe String(cString: entry)
    if let separator = text.firstIndex(of: "=") {
      result[String(text[..<separator])] = String(text[text.index(after: separator)...])
    }
    unsafe next += 1
  }
  return result
}
