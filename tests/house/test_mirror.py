"""Tests mirror the package: the test of a module is found by its name, and the few that are not are listed here."""

import ast
import sys
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePath

import pytest

HERE = Path(__file__).parents[1]
PACKAGE = HERE.parent / "src" / "shortlist"

HOUSE = ("house", "long", "properties", "recorded", "fuzz", "mutants", "helpers")
"""Folders of tests that are about no one room: the whole house, kinds of trust, and what tests share."""

OF_A_ROOM = {
    "accounting/test_composition.py": "the accountants together, against enumeration",
    "accounting/test_errata.py": "formulas in print that are wrong",
    "accounting/test_extremes.py": "where floats run out",
    "accounting/test_golden.py": "numbers of other libraries",
    "accounting/test_monte_carlo.py": "losses that are sampled",
    "accounting/test_oracles.py": "the tables of the theory",
    "accounting/test_thinned_range.py": "one guarantee through conversion, composition and the ledger",
    "mechanisms/*/test_box_by_formula.py": "a promise on a box of neighbours, by densities written once more",
    "sampling/test_paths.py": "every branch of every draw",
}
"""Tests of a room as a whole, which no module of it can name."""

COVERED = {
    "__main__.py": "cli/test_app.py",
    "_arrays.py": "house/test_layers.py",
    "_codecs.py": "test_release_format.py",
    "_entry.py": "house/test_layers.py",
    "_imports.py": "house/test_first_use.py",
    "_process.py": "mechanisms/pate/test_mechanism.py",
    "_reading.py": "test_scores.py",
    "_runs.py": "tables/test_remote_scores.py",
    "_signals.py": "cli/test_app_signals.py",
    "_sql.py": "tables/test_count.py",
    "_table_files.py": "test_files.py",
    "_table_names.py": "tables/test_remote_scores.py",
    "_version.py": "house/test_packaging.py",
    "grouped_*.py": "test_groups.py",
    "mechanisms/booking.py": "mechanisms/test_contract_refunds.py",
    "mechanisms/pate/book.py": "mechanisms/pate/test_mechanism.py",
    "audit/broken/stable.py": "mechanisms/stable/test_mechanism_general.py",
    "method_choice.py": "mechanisms/test_entry_rule.py",
    "noise.py": "exact/test_piecewise_noise.py",
    "paid_release.py": "cli/test_app_storm.py",
    "pate.py": "mechanisms/pate/test_mechanism.py",
    "released_gaps.py": "test_smallest_mechanisms.py",
    "privacy.py": "accounting/test_guarantees.py",
    "table_words.py": "house/test_question_words.py",
    "testing.py": "sampling/test_entropy.py",
    "accounting/accountant.py": "accounting/test_composition.py",
    "accounting/bounded_range.py": "accounting/test_composition.py",
    "accounting/capped_runs.py": "accounting/test_run_numbers.py",
    "accounting/checked_numbers.py": "accounting/test_guarantees.py",
    "accounting/convolution.py": "accounting/test_composition.py",
    "accounting/families.py": "accounting/test_guarantees.py",
    "accounting/finer_guarantees.py": "accounting/test_guarantees.py",
    "accounting/gumbel_curves.py": "accounting/test_oracles.py",
    "accounting/privacy_curves.py": "accounting/test_composition.py",
    "accounting/renyi.py": "accounting/test_guarantees.py",
    "accounting/tuned_curves.py": "accounting/test_tuned.py",
    "accounting/whole_profile.py": "accounting/test_tuned.py",
    "audit/broken/*.py": "audit/test_broken.py",
    "audit/black_box.py": "audit/test_attack.py",
    "audit/encoding.py": "audit/test_attack.py",
    "audit/events.py": "audit/test_attack.py",
    "audit/fingerprints.py": "audit/test_attack.py",
    "audit/jobs.py": "audit/test_attack.py",
    "audit/names.py": "cli/test_audit.py",
    "certified/*.py": "audit/test_prove.py",
    "cli/example.py": "test_example.py",
    "cli/quantile.py": "test_quantiles.py",
    "cli/output.py": "test_text.py",
    "cli/progress_bar.py": "cli/test_top.py",
    "cli/reproduce.py": "cli/test_plan.py",
    "cli/studio.py": "studio/test_server.py",
    "exact/best_loser.py": "mechanisms/oneshot/test_law.py",
    "exact/binomials.py": "exact/test_subset_classes.py",
    "exact/class_bounds.py": "exact/test_subset_classes.py",
    "exact/collapse.py": "planning/test_plans.py",
    "exact/distinct_scores.py": "mechanisms/oneshot/test_law.py",
    "exact/exceedance_counts.py": "mechanisms/oneshot/test_law_traps.py",
    "exact/offset_*.py": "mechanisms/canonical/test_offsets.py",
    "exact/ranked_subsets.py": "mechanisms/canonical/test_sampler.py",
    "exact/separation_integral.py": "mechanisms/oneshot/test_law.py",
    "exact/sequence_junk.py": "mechanisms/guarded_list/test_mechanism.py",
    "exact/sequence_*.py": "mechanisms/joint/test_mechanism.py",
    "exact/stair_counts.py": "mechanisms/canonical/test_offsets.py",
    "exact/subset_chances.py": "mechanisms/canonical/test_law.py",
    "exact/truncated_geometric.py": "exact/test_key_bars.py",
    "exact/unknown_domain_thresholds.py": "mechanisms/limited_domain/test_law.py",
    "list_request.py": "test_choose.py",
    "ledger/book.py": "ledger/test_file.py",
    "ledger/chain.py": "ledger/test_file.py",
    "ledger/errors.py": "ledger/server/test_line.py",
    "ledger/opening.py": "ledger/test_ledger.py",
    "ledger/store.py": "ledger/test_ledger.py",
    "ledger/replay.py": "ledger/test_ledger.py",
    "ledger/reservation.py": "ledger/test_ledger.py",
    "mechanisms/*/certified.py": "audit/test_prove.py",
    "mechanisms/*/entry.py": "mechanisms/test_entries.py",
    "mechanisms/canonical/offset_*.py": "mechanisms/canonical/test_offsets.py",
    "mechanisms/canonical_limited/law.py": "mechanisms/limited_domain/test_law.py",
    "cli/ledger_shown.py": "cli/test_ledger.py",
    "cli/options.py": "cli/test_delivery.py",
    "mechanisms/canonical_limited/mechanism.py": "mechanisms/limited_domain/test_mechanism.py",
    "mechanisms/exponential_gap/mechanism.py": "mechanisms/gaps/test_mechanism.py",
    "mechanisms/guarded/*.py": "mechanisms/guarded/test_mechanism.py",
    "mechanisms/guarded_list/law.py": "mechanisms/guarded_list/test_mechanism.py",
    "mechanisms/guarded_list/switch.py": "mechanisms/guarded_list/test_mechanism_zcdp.py",
    "mechanisms/histogram/law.py": "mechanisms/histogram/test_mechanism.py",
    "mechanisms/joint/*.py": "mechanisms/joint/test_mechanism.py",
    "mechanisms/keys/*.py": "mechanisms/keys/test_mechanism.py",
    "mechanisms/large_gap/mechanism.py": "mechanisms/stable/test_mechanism.py",
    "mechanisms/large_gap/sampler.py": "mechanisms/canonical_limited/test_sampler.py",
    "mechanisms/limited_domain/rates.py": "mechanisms/limited_domain/test_mechanism.py",
    "mechanisms/names_choice/*.py": "mechanisms/names_choice/test_mechanism.py",
    "mechanisms/noisy_max/mechanism.py": "mechanisms/oneshot/test_mechanism.py",
    "mechanisms/plan_rows.py": "planning/test_plans.py",
    "mechanisms/utility.py": "mechanisms/test_entries.py",
    "mechanisms/sparse_vector/stream.py": "mechanisms/sparse_vector/test_mechanism.py",
    "mechanisms/quantile/*.py": "mechanisms/quantile/test_mechanism.py",
    "mechanisms/stable/ranking.py": "mechanisms/stable/test_mechanism_general.py",
    "mechanisms/stable/sampler.py": "mechanisms/canonical_limited/test_sampler.py",
    "pages/grouped_page.py": "test_groups.py",
    "pages/guarantee_in_words.py": "pages/test_release_page.py",
    "pages/risk_box.py": "pages/test_release_page.py",
    "pages/plan_plot.py": "planning/test_plans.py",
    "pages/rounding.py": "pages/test_release_page.py",
    "pages/theme.py": "reproduce/test_study_page.py",
    "planning/answer.py": "planning/test_plans.py",
    "planning/goals.py": "planning/test_plans.py",
    "planning/limited_domain_search.py": "planning/test_candidates_for_plan.py",
    "planning/shapes.py": "planning/test_plans.py",
    "reproduce/explore.py": "reproduce/test_study_page.py",
    "reproduce/figures.py": "reproduce/test_store.py",
    "reproduce/inline_svg.py": "reproduce/test_study_page.py",
    "reproduce/runner.py": "reproduce/test_store.py",
    "reproduce/*.py": "reproduce/test_catalogue.py",
    "sampling/grid.py": "sampling/test_race_batch.py",
    "sampling/proportional_draw.py": "mechanisms/canonical_limited/test_sampler.py",
    "sampling/sequence_*.py": "mechanisms/joint/test_mechanism.py",
    "sampling/subset_*.py": "mechanisms/canonical/test_sampler.py",
    "sampling/threshold_runner.py": "sampling/test_race_batch.py",
    "tuning/question.py": "tuning/test_tune.py",
    "studio/expected.py": "studio/test_server.py",
    "studio/folder.py": "studio/test_server.py",
    "studio/planner.py": "studio/test_limits.py",
    "tables/candidates.py": "tables/test_count.py",
    "tables/columns.py": "tables/test_column_types.py",
    "tables/file_sources.py": "tables/test_files.py",
    "tables/frame_caps.py": "tables/test_caps.py",
    "tables/frames.py": "tables/test_count.py",
    "tables/groups/*.py": "tables/groups/test_grouping.py",
    "tables/progress.py": "studio/test_server.py",
    "tables/spark_counting.py": "tables/test_spark.py",
    "tables/where/in_*.py": "tables/where/test_conditions.py",
    "quantile_*.py": "test_quantiles.py",
    "tables/value*.py": "test_quantiles.py",
    "votes.py": "test_quantiles.py",
}
"""Modules without a test of their own name, and the test that looks at them most closely."""

MODULES = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"}
FILES = {path.relative_to(HERE).as_posix() for path in HERE.rglob("test_*.py")}


def listed(path, patterns):
    return any(fnmatchcase(path, pattern) for pattern in patterns)


@cache
def places(modules):
    """The modules and folders in each folder."""
    there: dict[PurePath, list[str]] = {}
    for one in {*modules, *(str(PurePath(module).parent) for module in modules)} - {"."}:
        there.setdefault(PurePath(one).parent, []).append(one)
    return there


def subjects(test, modules):
    """What a test is named after: `test_x.py` and `test_x_detail.py` stand where x is in the package, or `_x`."""
    name = PurePath(test).stem.removeprefix("test_")
    beside = places(frozenset(modules)).get(PurePath(test).parent, ())
    return {one for one in beside if f"{name}_".startswith(PurePath(one).stem.lstrip("_") + "_")}


def strays(files, modules):
    """Tests that are named after nothing at their place."""
    rooms = {test for test in files if test.split("/")[0] not in HOUSE and not subjects(test, modules)}
    return sorted(test for test in rooms if not listed(test, OF_A_ROOM))


def alone(files, modules):
    """Modules that no test is named after."""
    return modules - {one for test in files for one in subjects(test, modules)}


def test_a_test_is_named_after_a_module_or_a_folder_at_its_place():
    assert not strays(FILES, MODULES), "name it tests/ROOM/test_MODULE.py or test_MODULE_detail.py; or see tests/house"


def test_a_module_has_a_test_of_its_name_or_is_listed_with_one():
    assert not {module for module in alone(FILES, MODULES) if not listed(module, COVERED)}, "or list it in COVERED"


def test_the_lists_hold_nothing_that_is_gone_or_found_by_its_name():
    unnamed = alone(FILES, MODULES)
    for pattern, test in COVERED.items():
        assert any(fnmatchcase(module, pattern) for module in unnamed), pattern
        assert test in FILES, test
    for pattern in OF_A_ROOM:
        of_it = [test for test in FILES if fnmatchcase(test, pattern)]
        assert of_it, pattern
        assert not any(subjects(test, MODULES) for test in of_it), pattern


def test_a_stray_and_a_module_without_a_test_would_be_seen():
    modules = {"choose.py", "_files.py", "ledger/filter.py", "ledger/ends.py", "audit/broken/sets.py"}
    right = {
        "test_choose.py",
        "test_files_kept.py",
        "ledger/test_filter_deltas.py",
        "audit/test_broken.py",
        "test_ledger.py",
    }
    assert strays({*right, "house/test_docs.py"}, modules) == []
    wrong = {"test_choosing.py", "ledger/test_choose.py", "audit/test_sets.py", "ledger/test_filters.py"}
    assert strays({*right, *wrong}, modules) == sorted(wrong)
    assert alone(right, modules) == {"ledger/ends.py", "audit/broken/sets.py"}


def test_what_asks_for_its_size_is_marked_so_that_it_runs_at_full_size_too():
    forgotten = [
        f"{path.name}: {function.name}"
        for path in sorted(HERE.rglob("test_*.py"))
        for text in [path.read_text(encoding="utf-8")]
        if "sized(" in text
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef)
        and function.name.startswith("test_")
        and "sized" in {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        and not any(word in ast.unparse(one) for one in function.decorator_list for word in ("full_size", "mark.long"))
    ]
    assert not forgotten


def test_coverage_looks_at_no_test_that_is_not_traced(request):
    """It would take as long again as the test."""
    if not request.config.pluginmanager.hasplugin("_cov"):
        pytest.skip("without coverage nothing is traced")
    assert sys.gettrace() is None
