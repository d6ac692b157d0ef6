import Testing

@testable import CrashDaemon

@Suite("The check that failed")
struct FailedCheckTests {
  @Test(
    "a debug build and an optimized build name a check by the same words",
    arguments: [
      ("Index out of range", "Swift/ContiguousArrayBuffer.swift:692: Fatal error: Index out of range\n"),
      ("Division by zero", "Swift/IntegerTypes.swift:14: Fatal error: Division by zero\n"),
      ("precondition failure", "shop/Page.swift:33: Precondition failed: the page is too large: 7\n"),
      ("precondition failure", "shop/Gate.swift:9: Fatal error: closed\n"),
      (
        "Unexpectedly found nil while unwrapping an Optional value",
        "shop/Gate.swift:9: Fatal error: Unexpectedly found nil while unwrapping an Optional value\n"
      ),
      ("assertion failure", "shop/Gate.swift:9: Assertion failed\n"),
    ])
  func builds(failure: String, message: String) {
    #expect(FailedCheck(failure: failure, message: "") == FailedCheck(failure: nil, message: message))
  }

  @Test(
    "the words of a check have no values",
    arguments: [
      ("Swift/x.swift:1: Fatal error: Index 7 out of bounds\n", "Index "),
      (
        "shop/a.swift:3: Fatal error: 'try!' expression unexpectedly raised an error: E(id: 3)\n",
        "'try!' expression unexpectedly raised an error"
      ),
      (
        "shop/a.swift:3: Fatal error: Unexpectedly found nil while unwrapping an Optional value\n",
        "Unexpectedly found nil while"
      ),
      (
        "Could not cast value of type 'Swift.String' (0x7f) to 'Swift.Int' (0x7e).\n",
        "Could not cast value of type to Swift.Int"
      ),
    ])
  func words(message: String, words: String) {
    #expect(FailedCheck(failure: nil, message: message) == .builtIn(words))
  }

  @Test("a check without a name and without a message is unknown, and a message of the program is a stated check")
  func others() {
    #expect(FailedCheck(failure: nil, message: "") == .unknown && FailedCheck(failure: "", message: "\n") == .unknown)
    #expect(FailedCheck(failure: nil, message: "shop/a.swift:3: Fatal error: no user \u{1b}[31m\n") == .stated)
    #expect(FailedCheck(failure: nil, message: String(repeating: "x", count: 100_000)) == .stated)
  }
}
