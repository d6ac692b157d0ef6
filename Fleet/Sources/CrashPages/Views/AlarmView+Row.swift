internal import Glibc

extension AlarmView.Row {
  init(_ program: Alarms.Program, _ days: [String], now_ns: UInt64) {
    self.program = program
    name = CrashText.visible(program.name, to: 80, or: "without a name")
    (evidence, threshold) = (.rounded(program.evidence), .rounded(program.threshold))
    usual = Figure(program.usualPerDay, Self.perDay(program.usualPerDay))
    // The evidence is a product of factors, so the bar has a logarithmic scale: the bar is full at the threshold of the
    // alarm.
    let share = log(1 + max(0, program.evidence)) / log(1 + max(1, program.threshold))
    width = Figure.coordinate(share.isFinite ? min(100, max(0.5, share * 100)) : 0.5)
    isAlarm = program.evidence >= program.threshold
    let byDate = Dictionary(program.days.map { ($0.date, $0) }, uniquingKeysWith: { $1 })
    let ticks = ["30 d ago", "15 d", "today"]
    crashes = BarPlot(
      days.map { BarPlot.Point(label: $0, count: byDate[$0]?.crashes ?? 0) },
      summary: "Use-after-free crashes by day", height: 44, ticks: ticks)
    let plot = BarPlot(
      days.map { BarPlot.Point(label: $0, count: byDate[$0]?.hits ?? 0) }, summary: "Detected accesses by day",
      height: 44, ticks: ticks)
    hits = plot.isEmpty ? nil : plot
    lastSwitch = program.lastSwitch.map { CrashText.clip($0, to: 300) }
    lastSwitchTime = program.lastSwitchTime.map { Moment($0, now_ns: now_ns) }
  }

  /// Formats a rate, with two decimals if the result is below 1.
  private static func perDay(_ rate: Double) -> String {
    guard rate.isFinite, rate > 0, rate < 0.995 else { return Figure.rounded(rate).description }
    let hundredths = Int((rate * 100).rounded())
    return hundredths == 0 ? "less than 0.01" : "0.\(hundredths < 10 ? "0" : "")\(hundredths)"
  }
}
