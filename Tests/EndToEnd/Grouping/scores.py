"""Scores a grouping of crashes against labels, which name the defects of the crashes.

Each function takes the crashes as pairs of a label and a group. The figures are the ones of the literature on duplicate
crash reports: precision and recall over pairs of crashes, B-cubed, and Recall@1.
"""

import collections
import dataclasses


@dataclasses.dataclass
class Scores:
    """The figures of one way to group."""
    groups: int
    precision: float
    recall: float
    b_cubed_precision: float
    b_cubed_recall: float
    # The share of all crashes that the largest group with more than one label has.
    largest_impure: float
    recall_at_1: float

    @property
    def f1(self) -> float:
        return mean(self.precision, self.recall)

    @property
    def b_cubed_f1(self) -> float:
        return mean(self.b_cubed_precision, self.b_cubed_recall)


def mean(one: float, other: float) -> float:
    """The harmonic mean."""
    return 2 * one * other / (one + other) if one + other else 0


def pairs(count: int) -> int:
    return count * (count - 1) // 2


def score(crashes: list[tuple[str, str]], recall_at_1: float) -> Scores:
    labels = collections.Counter(label for label, _ in crashes)
    groups = collections.Counter(group for _, group in crashes)
    both = collections.Counter(crashes)
    equal = sum(pairs(count) for count in both.values())
    of_groups = sum(pairs(count) for count in groups.values())
    of_labels = sum(pairs(count) for count in labels.values())
    mixed = collections.Counter(group for _, group in both)
    impure = [groups[group] for group, count in mixed.items() if count > 1]
    return Scores(
        groups=len(groups), precision=equal / of_groups if of_groups else 1, recall=equal / of_labels if of_labels else 1,
        b_cubed_precision=sum(count * count / groups[group] for (_, group), count in both.items()) / len(crashes),
        b_cubed_recall=sum(count * count / labels[label] for (label, _), count in both.items()) / len(crashes),
        largest_impure=max(impure, default=0) / len(crashes), recall_at_1=recall_at_1)


def recall_at_1(crashes: list[tuple[str, str, str, str]]) -> float:
    """The share of crashes whose first proposal among the groups of all other builds has their label.

    A crash is a label, a build, a group and a coarse key. The first proposal for a crash is its group, if another build
    has it. Otherwise it is the largest group with the crash's coarse key. A crash counts only if another build has its
    label, and is right if its label is the most frequent one of the proposal.
    """
    asked = found = 0
    for build in {build for _, build, _, _ in crashes}:
        others = [crash for crash in crashes if crash[1] != build]
        known = {label for label, _, _, _ in others}
        members: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        similar: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        for label, _, group, coarse in others:
            members[group][label] += 1
            similar[coarse][group] += 1
        for label, own, group, coarse in crashes:
            if own != build or label not in known:
                continue
            asked += 1
            first = group if group in members else next((name for name, _ in similar[coarse].most_common(1)), None)
            found += first is not None and members[first].most_common(1)[0][0] == label
    return found / asked if asked else 0
