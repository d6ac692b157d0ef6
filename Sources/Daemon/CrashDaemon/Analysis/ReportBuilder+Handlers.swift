import CrashReport
import CrashRing
import CrashSymbols

extension ReportBuilder {
  /// The program's signal handlers that replaced the shield's handlers; nil if the program replaced none of them.
  var replacedHandlers: [CrashReport.ReplacedHandler]? {
    contents.replacedHandlers.isEmpty ? nil : contents.replacedHandlers.map(replacedHandler)
  }

  private func replacedHandler(_ handler: ReplacedHandler) -> CrashReport.ReplacedHandler {
    let signal = SignalNames.name(of: Int(handler.signal))
    switch handler.kind {
    case .byDefault: return CrashReport.ReplacedHandler(signal: signal, kind: .byDefault)
    case .ignored: return CrashReport.ReplacedHandler(signal: signal, kind: .ignored)
    case .handler:
      let image = contents.images.first { $0.index == handler.image }
      let chain = image.map { symbols.frames(buildID: $0.buildID, linkAddress: handler.address &- $0.bias) } ?? []
      return CrashReport.ReplacedHandler(
        signal: signal, kind: .handler, address: Address(handler.address), image: image?.path,
        function: CleanText.line(Demangler.simplified(chain.last?.mangled ?? "")))
    }
  }
}

extension ReportBuilder {
  /// Returns the program's handler that caught the signal of the first fault and re-raised this signal; nil if no
  /// handler did so.
  func raisedAgain(slot: Int) -> CrashReport.RaisedAgain? {
    guard let record = contents.records.first(where: { $0.slot == slot }),
      let first = FirstFault(record, pid: contents.identity.pid)
    else { return nil }
    let walk = FrameExpansion<Symbols>.Walk(
      frames: first.handler, head: first.handler.count, total: first.handler.count)
    let frames = expansion(shares: contents.records.count).frames(of: walk).frames
    let frame = frames.last { $0.isOwn && !$0.function.isEmpty } ?? frames.last { !$0.function.isEmpty }
    return CrashReport.RaisedAgain(
      signal: signal(record), function: frame?.function, file: frame?.file, line: frame?.line)
  }
}
