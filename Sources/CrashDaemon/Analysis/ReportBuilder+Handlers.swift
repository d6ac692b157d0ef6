import CrashReport
import CrashRing
import CrashSymbols

extension ReportBuilder {
  /// Who took crash signals from the shield; nil when nobody did.
  var replacedHandlers: [CrashReport.ReplacedHandler]? {
    contents.replacedHandlers.isEmpty ? nil : contents.replacedHandlers.map(replacedHandler)
  }

  private func replacedHandler(_ handler: ReplacedHandler) -> CrashReport.ReplacedHandler {
    let signal = SignalNames.name(of: Int(handler.signal))
    switch handler.kind {
    case .byDefault: return CrashReport.ReplacedHandler(signal: signal, kind: "default")
    case .ignored: return CrashReport.ReplacedHandler(signal: signal, kind: "ignored")
    case .handler:
      let image = contents.images.first { $0.index == handler.image }
      let chain = image.map { symbols.frames(buildID: $0.buildID, linkAddress: handler.address &- $0.bias) } ?? []
      return CrashReport.ReplacedHandler(
        signal: signal, kind: "handler", address: Address(handler.address), image: image?.path,
        function: CleanText.line(Demangler.simplified(chain.last?.mangled ?? "")))
    }
  }
}
