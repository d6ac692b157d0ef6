"""Writes the tables of the grouping benchmark, on the terminal and in docs/measurements/grouping.md."""

import collections
import pathlib

import scores

START, END = "<!-- figures of make grouping: start -->", "<!-- figures of make grouping: end -->"


def tables(found: list[dict], figures: dict[str, scores.Scores]) -> str:
    labels = len({crash["label"] for crash in found})
    lines = [f"{len(found):,} crashes of {labels} defects.", "",
             "| way | groups | precision | recall | F1 | B³ precision | B³ recall | B³ F1 | largest impure group | Recall@1 |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for name, one in figures.items():
        lines.append(
            f"| {name} | {one.groups} | {one.precision:.4f} | {one.recall:.4f} | {one.f1:.4f} | "
            f"{one.b_cubed_precision:.4f} | {one.b_cubed_recall:.4f} | {one.b_cubed_f1:.4f} | "
            f"{one.largest_impure:.2%} | {one.recall_at_1:.4f} |")
    lines += ["", "| kind of defect | crashes | defects | precision | recall |", "|---|---|---|---|---|"]
    kinds: dict[str, list[dict]] = collections.defaultdict(list)
    for crash in found:
        kinds[kind(crash["label"])].append(crash)
    for name, crashes in kinds.items():
        own = scores.score([(crash["label"], crash["report"]["group"]["key"]) for crash in crashes], 0)
        lines.append(f"| {name} | {len(crashes):,} | {len({crash['label'] for crash in crashes})} | "
                     f"{own.precision:.4f} | {own.recall:.4f} |")
    return "\n".join(lines)


def kind(label: str) -> str:
    start = label.split(".")[0]
    names = {
        "own": "helper that faults for several callers (rule 5)", "stated": "broken precondition of a helper (rule 3)",
        "utility": "utility that accesses its argument (rule 4)", "two": "two defects in one function (rule 2)",
        "demo": "route of the demo server", "crash-maker": "scenario of crash-maker (rule 6)"}
    return names.get(start, "own code of a domain")


def write(path: pathlib.Path, text: str):
    before = path.read_text()
    head, found, rest = before.partition(START)
    _, _, tail = rest.partition(END)
    if not found:
        raise SystemExit(f"grouping: {path} has no line '{START}'")
    path.write_text(f"{head}{START}\n{text}\n{END}{tail}")
