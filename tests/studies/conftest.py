"""A small report to look at."""

import pytest

from studies.papers.study_page import write_study
from tests.studies.experiments import records


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """A report over two small experiments, one of them with names that try to be HTML."""
    folder = tmp_path_factory.mktemp("study")
    return write_study(folder, records(folder))
