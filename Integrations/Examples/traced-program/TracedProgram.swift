import CrashShield
import CrashShieldTracing
import ExampleKit
import Instrumentation

/// Takes a job from a queue, runs it with the trace of the job, and traps.
@main struct TracedProgram {
  static func main() async throws {
    try Shield.startOrThrow(Shield.Configuration(name: "traced-program"))
    writeLine("port 0")
    InstrumentationSystem.bootstrap(TraceContextInstrument())

    let job = ["traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"]
    var context = ServiceContext.topLevel
    InstrumentationSystem.instrument.extract(job, into: &context, using: Fields())
    if CommandLine.arguments.last == "contained" {
      writeLine(try await Shield.withContainedRequest("resize", in: context) { article(9) })
    } else {
      await Shield.withRequest("resize", in: context) { writeLine(article(9)) }
    }
  }

  private struct Fields: Extractor {
    func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
  }
}
