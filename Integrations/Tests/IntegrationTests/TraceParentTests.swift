import CrashShieldServer
import Testing

struct TraceParentTests {
  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let span = "00f067aa0ba902b7"

  @Test(
    "a valid traceparent header has the IDs of the trace and of the span",
    arguments: [
      "00-\(trace)-\(span)-01", "00-\(trace)-\(span)-00", "cc-\(trace)-\(span)-01", "cc-\(trace)-\(span)-01-more",
    ])
  func valid(header: String) throws {
    let parent = try #require(TraceParent(header))
    #expect(parent.traceID == Self.trace && parent.spanID == Self.span)
  }

  @Test(
    "an invalid traceparent header has no IDs",
    arguments: [
      "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-0", "00-\(trace)-\(span)-01-more",
      "00-\(trace)-\(span)-01 ",
      "ff-\(trace)-\(span)-01", "cc-\(trace)-\(span)-01.more", "0x-\(trace)-\(span)-01", "00-\(trace)-\(span)-0x",
      "00_\(trace)-\(span)-01", "00-\(trace.uppercased())-\(span)-01", "00-\(trace)-\(span.dropLast())é-01",
      "00-\(String(repeating: "0", count: 32))-\(span)-01", "00-\(trace)-\(String(repeating: "0", count: 16))-01",
    ])
  func invalid(header: String) { #expect(TraceParent(header) == nil) }

  @Test("a request with two traceparent headers has no IDs")
  func two() {
    let header = "00-\(Self.trace)-\(Self.span)-01"
    #expect(TraceParent(onlyOf: [header]) != nil)
    #expect(TraceParent(onlyOf: [header, header]) == nil)
    #expect(TraceParent(onlyOf: []) == nil)
  }
}
