import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Health: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show how often each build crashes, and judge a new build",
    discussion: """
      Of each program, the build that crashd saw first comes first. CRASH-FREE is the share of requests that no crash \
      ended, for programs that register their requests. PER 1000 H is the number of crashes for each 1,000 \
      process-hours with its 95 % interval. BACK IN is the median time from a crash to the next process. WORSE \
      compares each build with the build before it.

      With --build or --against, the exit code is the verdict, for a deploy script: 1 the new build is worse, 0 it is \
      not shown to be worse, 4 a build is unknown. A build is its release, its build id, or the beginning of the id.

      Examples:
        crashctl health --name shop --since -7d
        crashctl health --build shop@1.4.2 --against shop@1.4.1 || roll-back
      """)

  @Option(help: ArgumentHelp("Only programs whose name contains this"), completion: .custom(Completions.programs))
  var name: String?

  @Option(
    help: ArgumentHelp("Judge this build (default: the newest)", valueName: "build"),
    completion: .custom(Completions.builds))
  var build: String?

  @Option(
    help: ArgumentHelp("Compare with this build (default: the build before)", valueName: "build"),
    completion: .custom(Completions.builds))
  var against: String?

  @OptionGroup var period: HealthPeriod

  @OptionGroup var legend: LegendOptions

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws {
    let report: HealthReport
    do throws(ClientError) {
      report = try connection.client.health(name: name, since: period.sinceText, build: build, against: against)
    } catch {
      guard case .refused(.noSuchBuild(let word)) = error else { throw Failure(error, of: connection.client) }
      let known = try connection.ask { client throws(ClientError) in try client.health(name: name) }
      throw HealthText.unknown(word, known)
    }
    guard !report.builds.isEmpty else {
      throw Failure.nothing(
        period.since == nil
          ? "no program\(name.map { " named '\($0)'" } ?? "") has attached yet" : "no process ran in the given period",
        of: connection.client)
    }
    if connection.json != .off { try connection.show(json: report) } else { try show(report) }
    if report.comparison?.isWorse == true { throw Failure(.nothingFound, "") }
  }

  private func show(_ report: HealthReport) throws {
    var shown = report
    if let pair = report.comparison {
      shown.builds.removeAll { ![pair.build, pair.against].contains($0.build) }
    }
    try connection.show(
      HealthText.list(shown, terminal: legend.terminal(connection), legend: !legend.hasNoLegend))
  }
}
