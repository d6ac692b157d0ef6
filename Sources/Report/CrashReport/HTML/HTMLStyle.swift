/// The CSS of a report.
enum HTMLStyle {
  /// The CSS rules of the page around the report.
  static let page: HTMLText = """
    :root { color-scheme: light dark; --ink: #1d1d1f; --faint: #66666b; --ground: #fff; --card: #f5f5f7;
      --line: #d9d9de; --alarm: #b3261e; --place: #7a4b00; }
    @media (prefers-color-scheme: dark) { :root { --ink: #ececee; --faint: #a0a0a8; --ground: #161618;
      --card: #222226; --line: #3a3a40; --alarm: #ff8a80; --place: #ffc46b; } }
    * { box-sizing: border-box; }
    body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
    main { max-width: 72rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
    @media print { body { background: #fff; } main { max-width: none; padding: 0; } }
    """

  /// The CSS rules of the report itself, for any page that contains the report.
  static let report: HTMLText = """
    h1 { font-size: 1.35rem; line-height: 1.25; margin: 0.25rem 0 0.5rem; color: var(--alarm); overflow-wrap: anywhere; }
    h2 { font-size: 1.1rem; margin: 2rem 0 0.5rem; }
    span, time { unicode-bidi: isolate; }
    .who, .signal, .note, time { color: var(--faint); }
    .who, .signal { margin: 0; overflow-wrap: anywhere; }
    pre, .stack, dd, td, .breadcrumbs { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 0.85rem; }
    pre.reason { margin: 0.5rem 0; padding: 0.6rem 0.8rem; background: var(--card); border-radius: 6px;
      white-space: pre-wrap; overflow-wrap: anywhere; }
    summary { cursor: pointer; }
    .thread { margin: 1rem 0; padding: 0.75rem 1rem; background: var(--card); border-radius: 8px; }
    .thread > summary { font-weight: 600; }
    .thread > summary .note { font-weight: 400; }
    .thread pre.reason { background: var(--ground); }
    .stack { list-style: none; margin: 0.5rem 0; padding: 0; }
    .stack li { padding: 0.15rem 0; overflow-wrap: anywhere; }
    .stack .stack { margin: 0; padding-left: 1rem; border-left: 2px solid var(--line); }
    .number { display: inline-block; min-width: 2rem; text-align: right; text-indent: 0; color: var(--faint); }
    .own .function { font-weight: 700; }
    .own .place { color: var(--place); }
    .quote { padding-left: 2.6rem; }
    pre.source { margin: 0.25rem 0; padding: 0.5rem; background: var(--ground); border-radius: 6px; overflow-x: auto; }
    pre.source .here { color: var(--alarm); font-weight: 700; }
    .runtime, .runtime .place, .fold { color: var(--faint); }
    .own, .runtime { padding-left: 2.6rem !important; text-indent: -2.6rem; }
    li.note, .fold { padding-left: 2.5rem; }
    dl { margin: 0; }
    .facts div { display: grid; grid-template-columns: 8rem 1fr; gap: 1rem; padding: 0.2rem 0;
      border-bottom: 1px solid var(--line); }
    dt { color: var(--faint); overflow-wrap: anywhere; }
    dd { margin: 0; overflow-wrap: anywhere; }
    .registers { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); }
    .registers div { display: flex; gap: 0.75rem; }
    .registers dt { width: 3rem; text-align: right; }
    .breadcrumbs { padding-left: 1.5rem; overflow-wrap: anywhere; }
    table.breadcrumbs time { white-space: nowrap; }
    .breadcrumbs .alarm { color: var(--alarm); }
    .breadcrumbs .place { color: var(--place); }
    .images { margin-top: 2rem; overflow-x: auto; }
    table { border-collapse: collapse; }
    th { text-align: left; font-weight: 600; }
    td, th { padding: 0.15rem 1rem 0.15rem 0; vertical-align: top; }
    .breadcrumbs time { display: inline-block; min-width: 5.5rem; text-align: right; margin-right: 0.5rem; }
    @media print { .thread, pre { break-inside: avoid; } details:not([open]) { display: none; } }
    @media (max-width: 40rem) { .facts div { grid-template-columns: 1fr; gap: 0; } }
    """
}
