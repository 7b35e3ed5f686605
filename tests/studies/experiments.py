"""Two small experiments for the report's tests."""

from studies.papers.experiment import CANONICAL, GUMBEL, Claim, Exhibit, Experiment, Finding, Result, Setting
from studies.papers.figures import canvas, legend
from studies.papers.figures import name as named
from studies.papers.store import save

HOSTILE = "<script>alert('x')</script> & \"quotes\""


def _run(setting):
    return Result({"x": [0.0, 1.0, 2.0], "y": [0.0, 1.0, 4.0]}, f"caption {HOSTILE}", ("Some data",), beyond=(HOSTILE,))


CLAIMS = (
    Claim(f"what {HOSTILE}", "section 1", lambda columns: Finding("confirmed", "ours", "why " * 30)),
    Claim("plain", "section 2", lambda columns: Finding("contradicted", "9.6", "exact")),
)
EXHIBIT = Exhibit(
    "figure 1", HOSTILE, {"k": (1, 2), "mu": 1.0}, lambda setting: {"k": (1, 2), "mu": 2.0}, {"mu": HOSTILE}, CLAIMS
)


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
    return Experiment(name, paper, f"Title of {name} {HOSTILE}", question, "see", (EXHIBIT,), _run, _draw(panels))


def records(folder):
    """Both, run and saved."""
    both = (_experiment("first", GUMBEL, 3), _experiment("second", CANONICAL, 1))
    setting = Setting("small")
    return [save(folder, one, setting, one.run(setting), 1.0) for one in both]
