"""Other ways to group the same reports, with which the benchmark compares crashd's groups.

Each way is a function that returns two keys of a report. Reports with the same key are one group. Groups with the same
coarse key are similar, as with crashd's coarse key.
"""

import re

# The fields of a report from which all baselines compute their keys.
FRAME_FIELDS = ("function", "mangled", "file", "line", "column", "isOwn", "isAsync", "address")


def trimmed(report: dict) -> dict:
    """The parts of a report that the benchmark needs."""
    thread = next((thread for thread in report["threads"] if thread["crashed"]), {"frames": []})
    return {
        "group": report["group"], "signal": report["signal"]["name"],
        "rule": (report.get("diagnosis") or {}).get("rule"), "reason": report.get("reason", "")[:200],
        "frames": [{name: frame.get(name) for name in FRAME_FIELDS} for frame in thread["frames"]]}


def name(frame: dict) -> str:
    return frame["function"] or frame["mangled"] or "?"


def own(report: dict) -> list[dict]:
    return [frame for frame in report["frames"] if frame["isOwn"]] or report["frames"]


def line(frame: dict) -> str:
    return f"{name(frame)} {(frame.get('file') or '').rsplit('/', 1)[-1]}:{frame.get('line')}"


def top_frame(report: dict) -> tuple[str, str]:
    frames = report["frames"]
    return (name(frames[0]),) * 2 if frames else ("", "")


def top_own_frame(report: dict) -> tuple[str, str]:
    frames = own(report)
    return (name(frames[0]),) * 2 if frames else ("", "")


def top_three_lines(report: dict) -> tuple[str, str]:
    frames = own(report)[:3]
    return "\n".join(map(line, frames)), name(frames[0]) if frames else ""


def sentry(report: dict) -> tuple[str, str]:
    """The signal and the functions of all in-app frames, without generic arguments and direct recursion."""
    names: list[str] = []
    for frame in own(report):
        function = re.sub(r"<[^<>]*>", "", name(frame))
        if not names or names[-1] != function:
            names.append(function)
    return "\n".join([report["signal"], *names]), names[0] if names else ""


WAYS = {
    "top frame": top_frame, "top in-app frame": top_own_frame, "top three in-app frames with lines": top_three_lines,
    "all in-app frames (as Sentry does)": sentry,
}
