import CrashProtocol
import CrashReport
import GRDB

// What a list shows of a report: of its row, and, with the same fields, of one that is not stored yet.
extension ReportSummary {
  /// What `init(_:epoch:)` reads of `reports`.
  static let columns = """
    seq, id, time, pid, uid, name, executable, unit, signal, reason, sentence, function, file, line, group_key, group_title
    """

  init(_ row: Row, epoch: StoreEpoch) {
    self.init(
      cursor: StoreCursor(epoch: epoch, sequence: row["seq"]).description, id: row["id"], time: row["time"],
      pid: row["pid"], uid: OwnerKey.uid(row["uid"]), name: row["name"], executable: row["executable"],
      unit: row["unit"], signal: row["signal"], reason: row["reason"], sentence: row["sentence"],
      function: row["function"], file: row["file"], line: row["line"], groupKey: row["group_key"],
      groupTitle: row["group_title"])
  }

  init(unstored report: CrashReport, at cursor: StoreCursor) {
    let frame = report.namingFrame
    self.init(
      cursor: cursor.description, id: report.id, time: report.time, pid: report.process.pid, uid: report.process.uid,
      name: report.process.name, executable: report.process.executable, unit: report.process.unit,
      signal: report.signal.name, reason: report.reason, sentence: report.diagnosis.sentence,
      function: frame?.function ?? "", file: frame?.file, line: frame?.line, groupKey: report.group.key,
      groupTitle: report.group.title, isPreliminary: report.isPreliminary == true ? true : nil)
  }
}
