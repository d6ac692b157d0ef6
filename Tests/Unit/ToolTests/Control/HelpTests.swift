import TestKit
import Testing

@Suite("The help and the completions of crashctl")
struct HelpTests {
  @Test("help goes to standard output and exits with 0", arguments: [["--help"], ["list", "-h"], ["run", "--help"]])
  func help(arguments: [String]) throws {
    let result = try CommandLineTests.crashctl(arguments)
    #expect(result.status == 0)
    #expect(result.output.contains("USAGE: crashctl"))
    #expect(result.complaint.isEmpty)
  }

  @Test("crashctl prints a completion script for each shell", arguments: ["bash", "zsh", "fish"])
  func completion(shell: String) throws {
    let result = try CommandLineTests.crashctl(["completion", shell])
    #expect(result.status == 0 && result.output.contains("crashctl"))
    #expect(try CommandLineTests.crashctl(["--generate-completion-script", shell]).output == result.output)
  }

  @Test("help lists verbs in groups; for a verb with subcommands it shows the default subcommand's options")
  func groupedHelp() throws {
    let help = try CommandLineTests.crashctl(["--help"]).output
    for title in ["SHOW CRASHES", "THE SERVICE"] { #expect(help.contains(title + " SUBCOMMANDS:"), "\(help)") }
    #expect(help.contains("crashctl groups --sort count"))
    for (verb, option) in [
      ("groups", "--sort"), ("incidents", "--source"), ("dangling", "--each"), ("guards", "--process"),
    ] {
      let own = try CommandLineTests.crashctl([verb, "--help"])
      #expect(
        own.status == 0 && own.output.contains("OPTIONS of '\(verb) list', which is the default:"), "\(own.output)")
      #expect(own.output.contains(option) && own.output.contains("SUBCOMMANDS:"))
    }
  }

  @Test("completions of option values have descriptions in zsh and fish, and none in bash")
  func valueCompletion() throws {
    let daemon = try CommandLineTests.daemon()
    defer { daemon.stop() }
    let values = { (shell: String, words: [String]) in
      try CommandLineTests.crashctl(
        ["---completion"] + words, environment: ["CRASHD_SOCKET": daemon.socketPath, "SAP_SHELL": shell]
      ).output.split(separator: "\n").map(String.init)
    }
    let state = ["groups", "list", "--", "--state", "3", "0", "crashctl", "groups", "list", "--state", ""]
    #expect(try values("bash", state) == ["new", "open", "resolved", "regressed", "all"])
    #expect(try values("zsh", state).first == "new:first seen in the newest of several builds")
    #expect(try values("fish", state).first == "new\tfirst seen in the newest of several builds")
    let report = ["show", "--", "positional@0", "2", "1", "crashctl", "show", "b"]
    #expect(try values("fish", report).first?.hasSuffix("ago, shop, checkout()") == true)
    let group = ["groups", "show", "--", "positional@0", "3", "1", "crashctl", "groups", "show", "7"]
    #expect(try values("bash", group) == ["71c0ffee71c0"])
  }

  @Test("the shell completes the ids of reports, and nothing without a running crashd")
  func idCompletion() throws {
    let daemon = try CommandLineTests.daemon()
    defer { daemon.stop() }
    // ArgumentParser's completion script passes these arguments if the cursor is after "crashctl show b".
    let words = ["---completion", "show", "--", "positional@0", "2", "1", "crashctl", "show", "b"]
    let known = try CommandLineTests.crashctl(words, environment: ["CRASHD_SOCKET": daemon.socketPath])
    #expect(known.output == "bb22\n")
    let unknown = try CommandLineTests.crashctl(words, environment: ["CRASHD_SOCKET": "/nowhere/s"])
    #expect(unknown.status == 0)
    #expect(unknown.output == "\n" && unknown.complaint.isEmpty)
  }

  @Test("decode has no option for a socket, because it starts a private crashd")
  func decode() throws {
    #expect(try !CommandLineTests.crashctl(["decode", "--help"]).output.contains("--socket"))
    #expect(try CommandLineTests.crashctl(["import", "--help"]).output.contains("--socket"))
  }
}
