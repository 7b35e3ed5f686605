"""Two small experiments for the report's tests."""

from shortlist.reproduce.experiment import CANONICAL, GUMBEL, Experiment, Line, Result, Setting
from shortlist.reproduce.figures import canvas, legend
from shortlist.reproduce.figures import name as named
from shortlist.reproduce.store import save

HOSTILE = "<script>alert('x')</script> & \"quotes\""


def _run(setting):
    lines = (Line(f"what {HOSTILE}", "paper", "ours", "why " * 30), Line("plain", "6", "9.6", "exact"))
    return Result({"x": [0.0, 1.0, 2.0], "y": [0.0, 1.0, 4.0]}, lines, f"caption {HOSTILE}", generated=True)


def _draw(panels):
    def draw(columns):
        figure, axes = canvas(1, panels)
        for ax in axes.flat:
            ax.plot(columns["x"], columns["y"], color="#0f766e", marker="o", label="ours")
            ax.plot(columns["y"], columns["x"], color="#b45309", label="theirs")
            named(ax, "A figure", "x", "y")
            ax.set_xticks([0.0, 1.0], ["0.001", "#1f2a37"])  # words, not numbers or colours
            legend(ax)
        return figure

    return draw


def _experiment(name, paper, panels):
    question = f"Is it so? {HOSTILE}"
    return Experiment(
        name, paper, "figure 1", f"Title of {name} {HOSTILE}", question, "see", "claim", _run, _draw(panels)
    )


def records(folder):
    """Both, run and saved."""
    both = (_experiment("first", GUMBEL, 3), _experiment("second", CANONICAL, 1))
    setting = Setting("small")
    return [save(folder, one, setting, one.run(setting), 1.0) for one in both]
