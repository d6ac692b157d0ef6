// Tests state the word that is on the wire; Sources name a member.
public import CrashReport

extension OpenEnum where Self: ExpressibleByStringLiteral {
  /// Makes the value of any word.
  public init(stringLiteral word: String) { self.init(word) }
}

extension CrashReport.Cause: ExpressibleByStringLiteral {}
extension CrashReport.ReplacedHandler.Kind: ExpressibleByStringLiteral {}
extension IncidentReport.Confidence: ExpressibleByStringLiteral {}
extension IncidentReport.Kind: ExpressibleByStringLiteral {}
extension IncidentReport.Mode: ExpressibleByStringLiteral {}
extension IncidentReport.Source: ExpressibleByStringLiteral {}
