/// Sample replies of crashd.
public enum SampleJSON: Sendable {
  /// A group.
  public static let group = #"""
    {"key":"71c0ffee71c0ffee","uid":1000,"title":"trap in shop.buy()","count":3,"first":"2026-11-21T08:00:00.000000Z",
    "last":"2026-11-21T09:00:00.000000Z","builds":2,"firstBuild":"aabb","lastBuild":"ccdd","names":["shop"],
    "state":"regressed","report":"bb22"}
    """#.split(separator: "\n").joined()

  /// A contrast (what distinguishes a group's crashes from others) whose first value contains an escape character.
  public static let contrast = #"""
    {"key":"71c0ffee71c0ffee","groupCount":40,"groupStored":400,"restCount":80,"tests":37,"findings":[
    {"key":"tag zone","value":"b\u001b[31m","inGroup":36,"inRest":8,"support":0.9,"lift":2.45,"probability":3.2e-14},
    {"key":"host","value":"web-3","inGroup":12,"inRest":0,"support":0.3,"lift":3,"probability":0.012}]}
    """#.split(separator: "\n").joined()

  /// A complete report.
  ///
  /// `more` contains further keys, each followed by a comma.
  public static func report(id: String, more: String = "") -> String {
    #"""
    {\#(more)"schema":1,"id":"\#(id)","time":"2026-11-21T08:10:11.000123Z","process":{"pid":4711,"uid":1000,
    "name":"shop","executable":"/srv/shop","buildID":"ab","startTime":"2026-11-21T08:00:00Z"},
    "signal":{"number":4,"name":"SIGILL","code":2,"codeName":"ILL_ILLOPN"},"reason":"Fatal error: Index out of range",
    "diagnosis":{"cause":"swift-runtime-failure","sentence":"An index was out of range in checkout().","rule":"r",
    "confidence":1},"threads":[{"tid":4711,"name":"shop","crashed":true,"frames":[{"address":"0x401000",
    "function":"checkout()","mangled":"x","file":"/src/Cart.swift","line":42,"isInline":false,"isAsync":false,
    "isOwn":true,"trust":"context"}],"registers":{}}],"images":[],"annotations":{},"breadcrumbs":[],
    "group":{"key":"k","title":"t"},"losses":{},"captureMicroseconds":12}
    """#.split(separator: "\n").joined()
  }

  /// The summary of a report in the reply of `List`.
  ///
  /// The caller must already have escaped `name` for JSON.
  public static func summary(id: String, cursor: String, name: String = "shop") -> String {
    #"""
    {"cursor":"\#(cursor)","id":"\#(id)","time":"2026-11-21T08:10:11Z","pid":4711,"uid":1000,"name":"\#(name)",
    "executable":"/srv/shop","unit":null,"signal":"SIGILL","reason":"Fatal error: Index out of range",
    "sentence":"An index was out of range in checkout().","function":"checkout()","file":"/src/Cart.swift","line":42,
    "groupKey":"k","groupTitle":"t"}
    """#.split(separator: "\n").joined()
  }

  /// The reply of `Explain`.
  public static let explanation = #"""
    {"id":"bb22","sentence":"An index was out of range in checkout().","rules":[
    {"rule":"swift-fatal-error","cause":"swift-fatal-error","confidence":1,"applies":true,"isChosen":true,
    "saw":["SIGILL, si_code 2 (ILL_ILLOPN)","Swift's message: 'Index out of range'"],
    "sentence":"Swift stopped the program: Index out of range"},
    {"rule":"null-pointer","cause":"null-pointer","confidence":0.95,"applies":false,"isChosen":false,
    "saw":["si_addr 0x0"],"sentence":null}]}
    """#.split(separator: "\n").joined()

  /// The parameters of `Status`.
  public static let status =
    #"{"version":"0.1.0","pid":7,"uptime_s":90,"processes":3,"ending":1,"reports":3,"storeBytes":4096,"losses":{"torn":1},"#
    + #""refusals":{}}"#
}
