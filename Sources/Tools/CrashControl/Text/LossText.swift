internal import CrashReport

/// Formats crashd's counters of losses, with the meaning of each counter and a remedy.
enum LossText {
  private struct Meaning {
    /// The phrase for one loss, such as `report without the stacks of the other threads`.
    var one: String
    var many: String
    var advice: String

    init(_ one: String, _ many: String, _ advice: String) { (self.one, self.many, self.advice) = (one, many, advice) }
  }

  /// Returns one sentence for each loss, the most frequent loss first.
  static func sentences(_ losses: [String: Int]) -> [String] {
    losses.filter { $0.value > 0 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { kind, count in
      guard let meaning = meanings[kind] else { return "\(count) × \(CleanText.line(kind))" }
      return "\(Listings.grouped(count)) \(count == 1 ? meaning.one : meaning.many). \(meaning.advice)."
    }
  }

  private static let rare = "Nothing to do while it is rare"
  private static let log = "See crashd's log"

  private static let meanings: [String: Meaning] = [
    "torn": Meaning("crash whose record was not finished", "crashes whose records were not finished", rare),
    "corrupt": Meaning(
      "record damaged after it was written", "records damaged after they were written",
      "The program corrupts the ring's memory"),
    "overwritten": Meaning(
      "crash overwritten by a later one of its process", "crashes overwritten by later ones of their process", rare),
    "noSlot": Meaning(
      "crash beyond the slots of its ring", "crashes beyond the slots of their ring", rare),
    "minimal": Meaning(
      "report without frames: its handler crashed", "reports without frames: their handler crashed", rare),
    "silentThreads": Meaning(
      "thread that did not answer in time", "threads that did not answer in time",
      "Nothing to do: the machine was busy, or a thread blocks signals"),
    "threads": Meaning(
      "thread beyond the maximum of a report", "threads beyond the maximum of a report",
      "Nothing to do: the report has the crashing thread"),
    "threadList": Meaning(
      "report without other threads: their list was not readable",
      "reports without other threads: their lists were not readable", "A sandbox may hide /proc from the program"),
    "images": Meaning(
      "image beyond the table of its ring", "images beyond the table of their ring",
      "Frames in them have addresses instead of names"),
    "annotations": Meaning("annotation that did not fit", "annotations that did not fit", "Shorten annotations"),
    "breadcrumbs": Meaning("damaged breadcrumb", "damaged breadcrumbs", rare),
    "incidents": Meaning(
      "incident that did not fit or could not be stored", "incidents that did not fit or could not be stored",
      "Counts of incidents are too low"),
    "classes": Meaning(
      "protected class beyond the table of its ring", "protected classes beyond the table of their ring",
      "Protect fewer classes"),
    "rawRecord": Meaning(
      "report stored without its record, which was too large",
      "reports stored without their records, which were too large", "These reports cannot be analyzed again"),
    "threadsTooLarge": Meaning(
      "thread omitted from a report that was too large", "threads omitted from reports that were too large",
      "Nothing to do: the report has the crashing thread"),
    "store": Meaning("report that could not be stored", "reports that could not be stored", log),
    "spool": Meaning(
      "spool file beyond the quota of its user, or not readable",
      "spool files beyond the quota of their user, or not readable", "Keep crashd running, or raise the quota"),
    "ring": Meaning("process whose ring could not be read", "processes whose rings could not be read", log),
    "hello": Meaning("process lost at a restart of crashd", "processes lost at a restart of crashd", log),
    "end": Meaning(
      "process whose end could not be classified", "processes whose end could not be classified", log),
    "policy": Meaning("change of a policy that was not stored", "changes of policies that were not stored", log),
  ]
}
