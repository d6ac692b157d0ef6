/// The pager and its environment.
struct PagerCommand: Equatable {
  var program: String
  var arguments: [String]
  var environment: [String: String]

  /// Selects the pager by the caller's environment.
  ///
  /// Fails if the output must be written without a pager.
  ///
  /// A caller with fewer privileges than crashctl gets `less` from the system's own directories. `LESSSECURE` disables
  /// the shell, editor, log and preprocessor of `less`. For a caller with fewer privileges, crashctl ignores `$PAGER`,
  /// `$LESS` and `$LESSOPEN`.
  init?(environment: [String: String], caller: CallerRights) {
    if caller.surplus != nil {
      let kept = environment.filter {
        ["TERM", "LANG", "LINES", "COLUMNS"].contains($0.key) || $0.key.hasPrefix("LC_")
      }
      let own = ["LESSSECURE": "1", "LESS": "FRSX", "LESSHISTFILE": "-", "PATH": Self.systemPath]
      self.init(program: Self.systemPager, arguments: [], environment: kept.merging(own) { $1 })
      return
    }
    let command = environment["PAGER"] ?? "less"
    if command.isEmpty || command == "cat" { return nil }
    var settings = environment
    settings["LESS"] = environment["LESS"] ?? "FRSX"
    // `$PAGER` can contain shell syntax; the default command does not need a shell.
    self =
      command == "less"
      ? PagerCommand(program: "less", arguments: [], environment: settings)
      : PagerCommand(program: "sh", arguments: ["-c", command], environment: settings)
  }

  private init(program: String, arguments: [String], environment: [String: String]) {
    self.program = program
    self.arguments = arguments
    self.environment = environment
  }

  private static let systemPager = "/usr/bin/less"
  private static let systemPath = "/usr/bin:/bin"
}
