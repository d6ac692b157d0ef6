/// One step of the schema migration.
///
/// A released step never changes; new steps are added. A step keeps all tables and columns that older programs use.
struct Migration: Sendable {
  var version: Int32
  var name: String
  var sql: String

  /// All steps, in order.
  static let all = [
    first, newestReports, newestReportsOfHostsAndBuilds, sums, keysOfOtherVersions, certificates, proofs, asks,
    protectionAsks,
  ]

  /// The version of the schema that this program needs.
  static var newest: Int32 { all.last?.version ?? 0 }

  // `alias` maps the key of a group to its issue, so that merging and splitting issues moves no report. `build.id` and
  // `issue.id` increase in the order in which the fleet first saw the builds and issues.
  private static let first = Migration(
    version: 1, name: "reports, issues, counters",
    sql: """
      create table tenant (
        id int generated always as identity primary key, name text not null unique,
        created timestamptz not null default now());

      create table token (
        id int generated always as identity primary key, tenant int not null references tenant, name text not null,
        hash bytea not null, created timestamptz not null default now(), revoked timestamptz);

      create table host (
        id int generated always as identity primary key, tenant int not null references tenant, machine uuid not null,
        name text not null, first_seen timestamptz not null default now(), last_seen timestamptz not null default now(),
        clock_ahead_ms bigint not null default 0, unique (tenant, machine));

      create table build (
        id int generated always as identity primary key, tenant int not null references tenant, program text not null,
        build text not null, release text, first_seen timestamptz not null default now(),
        unique (tenant, program, build));

      create table issue (
        id bigint generated always as identity primary key, tenant int not null references tenant, program text not null,
        title text not null, cause text not null, signal text not null, coarse text,
        state text not null default 'new' check (state in ('new', 'open', 'resolved', 'regressed', 'muted')),
        resolved_build int references build, first_seen timestamptz not null default now(),
        last_seen timestamptz not null default now(), first_build int references build, last_build int references build,
        regressed timestamptz, crashes bigint not null default 0, hosts bigint not null default 0);
      create index issue_last_seen on issue (tenant, last_seen desc);

      create table alias (
        id int generated always as identity primary key, tenant int not null references tenant, program text not null,
        key text not null, version int not null, issue bigint not null references issue, unique (tenant, program, key));
      create index alias_issue on alias (issue);

      create table report (
        tenant int not null, id uuid not null, day date not null, revision bigint not null, alias int not null,
        previous int, host int not null, build int not null, time timestamptz not null,
        received timestamptz not null default now(), signal text not null, cause text not null, unit text, release text,
        environment text, route text, body bytea compression lz4 not null,
        primary key (tenant, id, day)) partition by range (day);
      create index report_alias on report (alias, time desc);

      create table counter (
        alias int not null, host int not null, build int not null, hour timestamptz not null, run bigint not null,
        crashes bigint not null, previous bigint,
        primary key (alias, host, build, hour, run)) partition by range (hour);

      create table alias_hour (
        alias int not null, build int not null, hour timestamptz not null, crashes bigint not null,
        primary key (alias, hour, build)) partition by range (hour);

      create table alias_host (
        alias int not null, host int not null, first_seen timestamptz not null default now(),
        primary key (alias, host));

      create table host_cursor (
        host int not null references host, stream text not null, position text not null,
        moved timestamptz not null default now(), primary key (host, stream));
      """)

  // Lists order reports by the earlier one of the time of the crash and the time of its arrival. Otherwise a report of
  // a host whose clock is ahead would stay the newest one.
  private static let newestReports = Migration(
    version: 2, name: "newest reports of a tenant and of a group",
    sql: """
      create index report_newest on report (tenant, least(time, received) desc, id desc);
      create index report_alias_newest on report (alias, least(time, received) desc, id desc);
      drop index report_alias;
      """)

  // A step locks tables in the order in which a batch writes to them. Otherwise both could wait for each other.
  private static let newestReportsOfHostsAndBuilds = Migration(
    version: 3, name: "newest reports of a host and of a build",
    sql: """
      create index report_host_newest on report (host, least(time, received) desc, id desc);
      create index report_build_newest on report (build, least(time, received) desc, id desc);
      create index host_name on host (tenant, name);
      """)

  // Pages read these sums, because the rows of `alias_hour` grow with the hours of the retention. Two
  // batches wait for the same row of `program_hour` only if their connections have the same slot.
  private static let sums = Migration(
    version: 4, name: "sums of groups, builds, hosts and programs",
    sql: """
      lock table only counter in share mode;
      lock table only alias_hour in share mode;
      create table alias_build (
        alias int not null, build int not null, crashes bigint not null, first_hour timestamptz not null,
        last_hour timestamptz not null, primary key (alias, build));
      insert into alias_build
      select alias, build, sum(crashes), min(hour), max(hour) from alias_hour group by alias, build;

      create table alias_hour_sum (
        alias int not null, hour timestamptz not null, crashes bigint not null, primary key (alias, hour));
      create index alias_hour_sum_hour on alias_hour_sum using brin (hour);
      insert into alias_hour_sum select alias, hour, sum(crashes) from alias_hour group by alias, hour;

      alter table alias_host add column crashes bigint not null default 0;
      update alias_host x set crashes = c.crashes
      from (select alias, host, sum(crashes) crashes from counter group by alias, host) c
      where x.alias = c.alias and x.host = c.host;

      create table program_hour (
        tenant int not null, program text not null, hour timestamptz not null, slot int not null,
        crashes bigint not null, primary key (tenant, hour, program, slot));
      create index program_hour_hour on program_hour using brin (hour);
      insert into program_hour
      select a.tenant, a.program, h.hour, 0, sum(h.crashes) from alias_hour h join alias a on a.id = h.alias
      group by a.tenant, a.program, h.hour;
      """)

  // `examined` is the last time at which the service read reports of the group to find its keys of other versions.
  // `joined` is the alias whose issue the service chose, and a pinned alias is in the issue that an operator chose.
  //
  // A body has the bytes that a host sent, and PostgreSQL does not accept all JSON. The function therefore returns null
  // for some bodies.
  private static let keysOfOtherVersions = Migration(
    version: 5, name: "keys of other versions",
    sql: """
      alter table alias
        add column created timestamptz not null default now(), add column examined timestamptz,
        add column joined int, add column pinned boolean not null default false;
      create function report_exact_key(body bytea) returns text language plpgsql immutable as $body$
      begin
        return nullif(convert_from(body, 'UTF8')::json #>> '{group,exact}', '');
      exception when others then
        return null;
      end
      $body$;
      """)

  // A certificate has the SHA-256 of its DER as its hash, and no secret. An older program therefore refuses every token
  // with its number. A revoked certificate can be added again.
  private static let certificates = Migration(
    version: 6, name: "client certificates",
    sql: """
      alter table token add column is_certificate boolean not null default false;
      create unique index token_certificate on token (hash) where is_certificate and revoked is null;
      """)

  // The evidence in the reports of a group: their exact keys by build, and the groups in which they were before. The
  // service collects it for programs that have keys of several versions, because it is too slow to read the bodies
  // again for each search.
  private static let proofs = Migration(
    version: 7, name: "exact keys of groups",
    sql: """
      alter table alias add column examined_build int;
      create table alias_exact (
        alias int not null, build int not null, exact text not null, primary key (alias, build, exact));
      create index alias_exact_place on alias_exact (build, exact);
      create table alias_move (alias int not null, previous int not null, primary key (alias, previous));
      """)

  private static let asks = Migration(
    version: 8, name: "asks to hosts, and their answers",
    sql: """
      create table ask (
        id bigint generated always as identity primary key, tenant int not null references tenant,
        program text not null, issue bigint not null, created timestamptz not null default now(),
        expires timestamptz not null, withdrawn timestamptz);
      create index ask_tenant on ask (tenant);

      create table ask_answer (
        ask bigint not null references ask, host int not null, outcome text not null,
        answered timestamptz not null default now(), primary key (ask, host));
      """)

  private static let protectionAsks = Migration(
    version: 9, name: "asks for the protection of classes",
    sql: """
      alter table ask alter column issue drop not null, add column class text,
        add check ((issue is null) <> (class is null));
      """)
}
