// Removes asks (requests of operators to hosts) that ended long ago, with their answers.
extension FleetStore {
  /// Removes the asks that ended longer ago than reports are kept, and at most 100,000 of their answers.
  ///
  /// The next call removes the rest. An ask is kept longer than the fleet accepts answers to it, so that no batch adds
  /// an answer to an ask that is being removed.
  static func dropAsks(_ connection: Connection, keepingDays days: Int32) throws(FleetError) {
    for statement in [dropOldAnswers, dropOldAsks] {
      try connection.run(statement, .int32(max(days, answerDays + 1)))
    }
  }

  private static let isOld = "coalesce(a.withdrawn, a.expires) < now() - $1::int * interval '1 day'"

  private static let dropOldAnswers = Statement(
    name: "drop_answers",
    sql: """
      delete from ask_answer where ctid = any (array(
        select r.ctid from ask a join ask_answer r on r.ask = a.id where \(isOld) limit 100000))
      """)

  private static let dropOldAsks = Statement(
    name: "drop_asks",
    sql: "delete from ask a where \(isOld) and not exists (select 1 from ask_answer r where r.ask = a.id)")
}
