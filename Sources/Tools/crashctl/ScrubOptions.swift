import ArgumentParser
import CrashProtocol

/// For reports that leave the machine.
struct ScrubOptions: ParsableArguments {
  @Flag(
    name: .customLong("scrub"),
    help: """
      Without what crashd's privacy rules name (secrets in annotations, addresses of mail, users' names); otherwise as \
      crashd keeps it.
      """)
  var isScrubbed = false
}
