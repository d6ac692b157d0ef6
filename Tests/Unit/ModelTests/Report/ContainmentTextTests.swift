import CrashReport
import TestKit
import Testing

@Suite("Containment in the text report")
struct ContainmentTextTests {
  typealias Containment = CrashReport.Containment

  private func text(_ containment: Containment?) -> String? {
    var report = Sample.indexOutOfRange
    report.containment = containment
    return report.containmentText
  }

  @Test("the text report of a drain has its counts, its duration and the signal that then ended the process")
  func drained() {
    let drain = Containment.Drain(endedBy: .done, finished: 50, lost: 0, durationNanoseconds: 234_000_000)
    #expect(
      text(Containment(mode: .drain, verdict: .drain, reason: "budget", drain: drain))
        == "Drained: 50 requests finished, 0 lost, in 0.23 s; the process then ended by SIGILL.")
  }

  @Test(
    "the text report states why a drain ended before it had finished all requests",
    arguments: [
      ("deadline", "the grace period was over"), ("stall", "no request made progress"),
      ("secondCrash", "another crash followed"), ("exit", "the program called exit()"),
      ("waiter", "requests waited for a lock that a trapped thread holds"), ("9\u{1b}", "of 9␛"),
    ])
  func ends(end: Containment.End, clause: String) {
    let drain = Containment.Drain(endedBy: end, finished: 1, lost: 3)
    #expect(
      text(Containment(mode: .drain, verdict: .drain, drain: drain))
        == "Drained: 1 request finished, 3 lost. The drain ended because \(clause); the process then ended by SIGILL.")
  }

  @Test("the text report states if the process was still draining")
  func draining() {
    #expect(
      text(Containment(mode: .drain, verdict: .drain, drain: .init(finished: 0, lost: 0)))
        == "Draining: the requests in flight had not ended when crashd last read the process.")
  }

  @Test("if the process ended before the drain, the text report states this, without counts")
  func interrupted() {
    let drain = Containment.Drain(endedBy: .interrupted, finished: 0, lost: 0)
    #expect(
      text(Containment(mode: .drain, verdict: .drain, drain: drain))
        == "The drain did not end: the process was killed, or called _exit(), while requests were in flight.")
  }

  @Test("the text report of a trap states why it was not contained, or why containment was not available")
  func reasons() {
    #expect(
      text(Containment(mode: .contain, verdict: .die, reason: "notTrap", contained: 1))
        == "Not contained: the signal did not come from a Swift trap. Contained before: 1 trap.")
    #expect(
      text(Containment(mode: .drain, verdict: .die, reason: "sent")) == "Not drained: a process had sent the signal.")
    #expect(
      text(Containment(mode: .contain, verdict: .die, reason: "unavailable", obstacle: "hook"))
        == "Not contained: other code has replaced the global executor.")
    #expect(
      text(Containment(mode: .contain, verdict: .die, reason: "99"))
        == "Not contained: the handler gave the reason 99.")
    #expect(
      text(
        Containment(
          mode: .contain, verdict: .drain, reason: "actor",
          drain: .init(endedBy: .done, finished: 2, lost: 0, durationNanoseconds: 12_340_000_000)))
        == "Not contained: the trap was on an actor. Drained: 2 requests finished, 0 lost, in 12.3 s; the process then "
        + "ended by SIGILL.")
  }

  @Test("the text report has no line about containment if containment was off or had no effect")
  func none() {
    #expect(text(nil) == nil && text(Containment(mode: .contain)) == nil)
    #expect(!TextRenderer().render(Sample.indexOutOfRange).contains("ontained"))
  }

  @Test("every reason and every obstacle has a different sentence, which begins in lower case and has no full stop")
  func sentences() {
    let clauses = Containment.Reason.all.map(\.clause) + Containment.Obstacle.all.map(\.clause)
    #expect(Set(clauses).count == clauses.count)
    for clause in clauses {
      let begins = clause.first?.isLowercase == true || ["Swift", "Dispatch"].contains { clause.hasPrefix($0) }
      #expect(begins && !clause.hasSuffix("."))
    }
    let words = Containment.Reason.all.map(\.word) + Containment.Obstacle.all.map(\.word)
    #expect(words.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0.isASCII && $0.isLetter } })
  }

  @Test("hostile strings in the field about containment cannot break out of their line or inject markup")
  func hostile() {
    var report = Sample.indexOutOfRange
    report.containment = Containment(
      mode: .contain, verdict: .die, reason: .init("<b>\n\u{1b}"), contained: 1,
      drain: .init(endedBy: .init("<i>\n"), finished: .max, lost: .min, durationNanoseconds: .min))
    for text in [TextRenderer().render(report), HTMLRenderer().render(report)] {
      #expect(!text.contains("\u{1b}") && text.contains("Not contained"))
    }
    #expect(HTMLRenderer().render(report).contains("&lt;b&gt;") && !HTMLRenderer().render(report).contains("<i>"))
  }
}
