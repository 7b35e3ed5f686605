"""Private labels that really train: scikit-learn teachers on disjoint shards, a student on what they agree about.

    python examples/private_labels.py

The private records are split among teachers; each record is seen by one teacher only. Public inputs are labelled by
the teachers' votes through `MultiLabelPATE`, and a student learns from the answered ones. Nothing but the student
leaves the house, and it protects every training record: (epsilon, delta) is printed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import MultinomialNB

from shortlist.pate import MultiLabelPATE


@dataclass(frozen=True)
class Outcome:
    """How well the student does, beside whom, and what it cost."""

    student: float
    ensemble: float
    """The teachers' majority, told to nobody: what a student could at best imitate."""
    nothing: float
    """Always the most frequent answer."""
    answered: float
    right: float
    """The share of the released label sets that the majority would have given too."""
    epsilon: float


def data(records: int, labels: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Documents of word counts with about two topics each; documents without a topic are left out."""
    inputs, topics = make_multilabel_classification(
        n_samples=records,
        n_features=60,
        n_classes=labels,
        n_labels=2,
        length=120,
        allow_unlabeled=False,
        random_state=seed,
    )
    return inputs, topics


def train_teachers(inputs: np.ndarray, topics: np.ndarray, teachers: int) -> list[list[MultinomialNB | None]]:
    """One multi-label model (a naive Bayes for each label) on each shard; None where a shard has one answer only."""
    models = []
    for shard in np.array_split(np.arange(len(inputs)), teachers):
        columns = (topics[shard, label] for label in range(topics.shape[1]))
        models.append([MultinomialNB().fit(inputs[shard], y) if 0 < y.mean() < 1 else None for y in columns])
    return models


def ballots(models: list[list[MultinomialNB | None]], inputs: np.ndarray) -> np.ndarray:
    """Votes, inputs x teachers x labels, each 0 or 1."""
    silent = np.zeros(len(inputs), int)
    votes = [[silent if one is None else one.predict(inputs) for one in model] for model in models]
    return np.array(votes).transpose(2, 0, 1)


def accuracy(found: np.ndarray, truth: np.ndarray) -> float:
    """The share of single answers (document, topic) that are right."""
    return float((found == truth).mean())


def run(records: int = 40_000, teachers: int = 400, queries: int = 400, rho: float = 1.0, seed: int = 0) -> Outcome:
    """Train the teachers, label `queries` public inputs, train the student, and compare."""
    labels = 6
    inputs, topics = data(records + queries + 2000, labels, seed)
    private, public, test = np.split(np.arange(len(inputs)), [records, records + queries])
    models = train_teachers(inputs[private], topics[private], teachers)

    pate = MultiLabelPATE(rho=rho, delta=1e-6, queries=queries)
    votes = ballots(models, inputs[public])
    answers = [pate.label(one) for one in votes]
    known = [i for i, answer in enumerate(answers) if answer is not None]
    learned = np.array([[label in (answers[i] or ()) for label in range(labels)] for i in known], int)

    student = MultiOutputClassifier(LogisticRegression(max_iter=2000, C=0.1)).fit(inputs[public][known], learned)
    majority = ballots(models, inputs[test]).mean(axis=1) > 0.5
    agreed = (votes.mean(axis=1) > 0.5)[known]
    common = np.tile(topics[private].mean(axis=0) > 0.5, (len(test), 1))
    return Outcome(
        student=accuracy(student.predict(inputs[test]), topics[test]),
        ensemble=accuracy(majority, topics[test]),
        nothing=accuracy(common, topics[test]),
        answered=len(known) / queries,
        right=float((learned == agreed).all(axis=1).mean()),
        epsilon=pate.guarantee.epsilon,
    )


def main() -> None:
    found = run()
    print(f"answered {found.answered:.0%} of the queries; {found.right:.0%} of the answers are the majority's own")
    print(f"accuracy: student {found.student:.3f}, ensemble (not private) {found.ensemble:.3f}, ", end="")
    print(f"always the most frequent answer {found.nothing:.3f}")
    print(f"(epsilon, delta) = ({found.epsilon:.2f}, 1e-06) for one training record")


if __name__ == "__main__":
    main()
