import CrashReport
import CrashShieldServer
import CrashShieldTracing
import Instrumentation
import Glibc
import IntegrationKit
import Testing

struct TracingTests {
  @Test("the tracing instrument extracts a valid traceparent header and ignores an invalid one")
  func extraction() {
    let header = "00-\(Trace.id)-\(Trace.span)-01"
    var context = ServiceContext.topLevel
    TraceContextInstrument().extract(["traceparent": "00-0-0-00"], into: &context, using: Fields())
    #expect(context.traceParent == nil)
    TraceContextInstrument().extract(["traceparent": header], into: &context, using: Fields())
    #expect(context.traceParent?.traceID == Trace.id && context.traceParent?.spanID == Trace.span)
  }

  @Test("the report of a crash has the trace of the service context", arguments: ["registered", "contained"])
  func report(kind: String) async throws {
    let end = try await onThread {
      let server = try Server("traced-program", [kind], containment: "off")
      return try server.waitUntilEnd()
    }
    #expect(end.signal == SIGILL, "\(end.errors)")
    let request = try #require(end.reports.first?.request)
    #expect(request.operation == "resize" && request.traceID == Trace.id && request.spanID == Trace.span)
  }

  private struct Fields: Extractor {
    func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
  }
}
