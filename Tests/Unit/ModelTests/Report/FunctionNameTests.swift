import CrashReport
import Testing

@Suite("Function names in text")
struct FunctionNameTests {
  @Test("S2: a long name is cut to 120 characters, and keeps its innermost part and the function's type")
  func long() {
    let closures = (1...9).map { "closure #\($0) in " }.joined()
    #expect(
      FunctionName.short("specialized " + closures + "AccountMiddleware.handle(_:context:next:)")
        == "specialized closure #1 in … in AccountMiddleware.handle(_:context:next:)")
    let labels = (1...40).map { "label\($0):" }.joined()
    #expect(FunctionName.short("AccountMiddleware.handle(\(labels))") == "AccountMiddleware.handle(…)")
    for count in [121, 300, 4_000] {
      let path = "specialized closure #1 in Outer<\(String(repeating: "Ä", count: count))>.AccountMiddleware.handle(_:)"
      let short = FunctionName.short(path)
      #expect(short.count == FunctionName.limit && short.hasPrefix("specialized closure #1 in Outer<"))
      #expect(short.hasSuffix(">.AccountMiddleware.handle(…)"))
    }
  }

  @Test("a function name of 120 characters is not shortened")
  func whole() {
    for name in ["", "main", String(repeating: "a", count: 120), String(repeating: "ä", count: 120)] {
      #expect(FunctionName.short(name) == name)
    }
  }
}
