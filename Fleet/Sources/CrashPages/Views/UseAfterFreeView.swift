/// The risk of use-after-free by class, and the delays of accesses.
struct UseAfterFreeView: PageView {
  static let template = "use-after-free"

  /// One class.
  struct Row: Encodable, Sendable {
    var item: UseAfterFree.Class
    var name: String
    var program: String
    var build: String
    var memory: Figure
    var detection: Figure?
    var interval: String?
    var hits: Figure
    var accesses: Figure
    var crashes: Figure

    private enum CodingKeys: CodingKey { case item }
  }

  /// A group of incidents.
  struct GroupRow: Encodable, Sendable {
    var group: UseAfterFree.Group
    var name: String
    var access: String
    var place: String
    var program: String
    var count: Figure
    var delay: Figure?
    var last: Moment

    private enum CodingKeys: CodingKey { case group }
  }

  var title = "Use-after-free"
  var rows: [Row]
  var groups: [GroupRow]
  let detection: DetectionPlot?
  var delays: BarPlot?
  /// The number of rows that the page omits.
  var more: Figure?

  private enum CodingKeys: CodingKey { case rows, groups, delays }

  init(_ data: UseAfterFree, limit: Int, now_ns: UInt64) {
    rows = data.classes.prefix(limit).map { item in
      Row(
        item: item, name: CrashText.clip(item.name, to: 120), program: CrashText.clip(item.program, to: 40),
        build: BuildText.short(nil, item.build), memory: .bytes(item.bytes),
        detection: item.detection.map { .percent($0) },
        interval: item.lower.flatMap { lower in
          item.upper.map { "\(Figure.percent(lower)) to \(Figure.percent($0))" }
        },
        hits: .rounded(item.hits), accesses: .rounded(item.estimatedAccesses), crashes: .rounded(item.crashes))
    }
    groups = data.groups.prefix(limit).map { group in
      GroupRow(
        group: group, name: CrashText.clip(group.className, to: 120), access: CrashText.clip(group.access, to: 120),
        place: CrashText.clip(group.place, to: 160), program: CrashText.clip(group.program, to: 40),
        count: Figure(group.count), delay: group.delay_ns.map { .delay(ns: $0) },
        last: Moment(group.last, now_ns: now_ns))
    }
    detection = DetectionPlot(Array(data.classes.prefix(limit)))
    delays = data.delays_ns.isEmpty ? nil : DelayPlot.plot(data.delays_ns)
    let rest = max(0, data.classes.count - limit) + max(0, data.groups.count - limit)
    more = rest > 0 ? Figure(rest) : nil
  }
}
