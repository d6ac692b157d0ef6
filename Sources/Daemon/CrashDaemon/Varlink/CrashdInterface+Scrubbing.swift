import CrashProtocol
import CrashReport
import CrashStore

/// Returns scrubbed reports, from which the privacy rules have removed sensitive data.
///
/// Only scrubbed reports are allowed to leave the machine.
extension CrashdInterface {
  /// Returns a report after the privacy rules have removed sensitive data.
  func scrubbed(_ parameters: Methods.Get.Parameters, _ client: Client) throws(ProtocolError) -> Methods.Get.Sent {
    for (name, isWanted) in [("raw", parameters.raw), ("stacks", parameters.stacks)] where isWanted == true {
      throw .invalidParameter(name)
    }
    let stored = try reading { () throws(StoreError) in
      try store.report(with: preliminary, idPrefix: parameters.id, visibility: client.visibility)
    }
    do {
      return try CPUAccounts.charging {
        GetReply(report: try JSONFragment(TextScrubber(settings.current.privacy).scrub(report: stored.json.value())))
      }
    } catch {
      // An invalid rule is not expected here, because the rules were checked when the settings were read. If a rule is
      // invalid nevertheless, let the call fail, so that it returns no unscrubbed data.
      throw .storeUnavailable(reason: "the report cannot be scrubbed: \(error)")
    }
  }
}
