// Makes the open enums of crashd's wire format (enums that accept unknown words) expressible by string literals in
// tests. Code in Sources uses the named members instead.
public import CrashReport

extension OpenEnum where Self: ExpressibleByStringLiteral {
  /// Creates the value for any string, even for an unknown one.
  public init(stringLiteral word: String) { self.init(word) }
}

extension CrashReport.Cause: ExpressibleByStringLiteral {}
extension CrashReport.Containment.End: ExpressibleByStringLiteral {}
extension CrashReport.Containment.Mode: ExpressibleByStringLiteral {}
extension CrashReport.Containment.Obstacle: ExpressibleByStringLiteral {}
extension CrashReport.Containment.Reason: ExpressibleByStringLiteral {}
extension CrashReport.Containment.Verdict: ExpressibleByStringLiteral {}
extension CrashReport.ReplacedHandler.Kind: ExpressibleByStringLiteral {}
extension IncidentReport.Confidence: ExpressibleByStringLiteral {}
extension IncidentReport.Kind: ExpressibleByStringLiteral {}
extension IncidentReport.Mode: ExpressibleByStringLiteral {}
extension IncidentReport.Source: ExpressibleByStringLiteral {}
