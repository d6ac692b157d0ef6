import CrashReport
import CrashStore

/// Reports as they may leave the machine.
extension CrashdInterface {
  /// A report without what the privacy rules name.
  func scrubbed(_ parameters: VarlinkParameters, _ visibility: Visibility) throws(VarlinkError) -> ScrubbedReply {
    for memory in ["raw", "stacks"] where try parameters.bool(memory) == true { throw .invalidParameter(memory) }
    let prefix = try parameters.string("id")
    let report = try reading { () throws(StoreError) in
      try store.report(with: preliminary, idPrefix: prefix, visibility: visibility)
    }
    do {
      return ScrubbedReply(report: try Scrubber(settings.current.privacy).scrub(report))
    } catch {
      // The rules were understood when the settings were read. Whatever it is: nothing goes unscrubbed.
      throw .storeUnavailable("the report cannot be scrubbed: \(error)")
    }
  }
}

struct ScrubbedReply: Encodable, Sendable {
  var report: JSONValue
}
