public import CrashShieldServer
public import Instrumentation

/// An instrument that extracts the IDs of the `traceparent` header into the service context.
///
/// ```swift
/// InstrumentationSystem.bootstrap(TraceContextInstrument())
/// InstrumentationSystem.bootstrap(MultiplexInstrument([tracer, TraceContextInstrument()]))     // with a tracer
/// ```
///
/// `Shield.withRequest(_:id:in:tags:isolation:_:)` then registers requests with these IDs. The instrument creates no
/// spans, so `inject` does nothing. Use a tracer to add the header to outgoing requests.
public struct TraceContextInstrument: Instrument {
  /// Creates the instrument.
  public init() {}

  /// Sets `traceParent` of `context`, if the carrier has a valid `traceparent` header.
  public func extract<Carrier, Extract>(
    _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
  ) where Extract: Extractor, Extract.Carrier == Carrier {
    guard let header = extractor.extract(key: TraceParent.headerName, from: carrier) else { return }
    guard let parent = TraceParent(header) else { return }
    context.traceParent = parent
  }

  /// Does nothing, because the instrument creates no spans.
  public func inject<Carrier, Inject>(
    _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject: Injector, Inject.Carrier == Carrier {}
}

private enum TraceParentKey: InstrumentationContextKey {
  typealias Value = TraceParent
  static let nameOverride: String? = "crash-shield-trace-parent"
}

extension InstrumentationContext {
  /// The IDs of the client's `traceparent` header, or nil if the client did not send a valid header.
  public var traceParent: TraceParent? {
    get { self[TraceParentKey.self] }
    set { self[TraceParentKey.self] = newValue }
  }
}
