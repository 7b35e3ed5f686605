"""The report and the studio in a real Chromium, as `python -m bench pages`; needs chromium and playwright."""

from __future__ import annotations

import shutil
import tempfile
import threading
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from shortlist import Ledger
from shortlist.privacy import PureDP
from shortlist.studio.inputs import Folder
from shortlist.studio.server import Studio

REPORT = Path(__file__).parents[1] / "docs" / "report" / "index.html"
ROWS = 10_000_000
SLIDE = """async () => { const found = []; const slider = document.getElementById("k");
for (let step = 0; step < 60; step++) { slider.value = step % 6; const start = performance.now();
slider.dispatchEvent(new Event("input", { bubbles: true }));
await new Promise(go => requestAnimationFrame(() => { found.push(performance.now() - start); go(); }));
await new Promise(go => setTimeout(go, 20)); } return found.sort((a, b) => a - b); }"""
DRAWS = """() => { const found = [], real = window.requestAnimationFrame, slider = document.getElementById("k");
window.requestAnimationFrame = (draw) => { const start = performance.now(); draw();
found.push(performance.now() - start); };
for (let step = 0; step < 60; step++) { slider.value = step % 6;
slider.dispatchEvent(new Event("input", { bubbles: true })); }
window.requestAnimationFrame = real; return found.sort((a, b) => a - b); }"""
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def made_up(folder):
    """Ten million rows, 200 candidates and a ledger."""
    import duckdb

    np.savetxt(folder / "films.txt", [f"film {i}" for i in range(200)], fmt="%s")
    with duckdb.connect() as connection:
        connection.execute(
            "copy (select hash(i) % 1000000 as who, "
            "'film ' || (200 * pow(hash(i + 77) / pow(2.0, 64), 3))::int as film "
            f"from range({ROWS}) t(i)) to '{folder}/rentals.parquet' (format parquet)"
        )
    Ledger(folder / "year.db", budget=PureDP(100.0))


def story(page):
    """Plan, confirm, release: seconds until the list is there, and how many steps of progress were seen."""
    page.fill("#user", "who")
    page.fill("#item", "film")
    page.select_option("#candidates_file", "films.txt")
    page.click("#show-plan")
    page.wait_for_selector("#plan", state="visible")
    page.check("#agree")
    page.evaluate(
        "window.seen = new Set(); setInterval(() => seen.add(document.getElementById('progress-bar').value), 20)"
    )
    start = perf_counter()
    page.click("#release")
    page.wait_for_selector(".result", timeout=120_000)
    return perf_counter() - start, page.evaluate("seen.size")


def pages_table():
    """The built report and the studio in headless Chromium."""
    from playwright.sync_api import sync_playwright

    yield "| what | measured | target |"
    yield "|---|---|---|"
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as name:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        yield f"| report, size | {REPORT.stat().st_size / 1e6:.2f} MB | 3 MB |"
        opened = []
        for _ in range(5):
            page = browser.new_page()
            page.goto(REPORT.as_uri())
            opened.append(page.evaluate(LOADED))
        yield f"| report, opened | {median(opened):.0f} ms | 1,000 ms |"
        draws, slides = page.evaluate(DRAWS), page.evaluate(SLIDE)
        yield f"| a slider's work, median and worst | {median(draws):.1f} and {draws[-1]:.1f} ms | a frame, 16.7 ms |"
        yield f"| a slider, from the event to its frame, median | {median(slides):.1f} ms | |"
        folder = Path(name)
        made_up(folder)
        server = Studio(Folder.of(folder), log=lambda line: None)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        first = []
        for _ in range(5):
            page = browser.new_context().new_page()
            page.goto(server.address)
            first.append(page.evaluate(LOADED))
        yield f"| studio, first page | {median(first):.0f} ms | 300 ms |"
        start = perf_counter()
        many = [browser.new_context().new_page() for _ in range(10)]
        for page in many:
            page.goto(server.address, wait_until="commit")
        for page in many:
            page.wait_for_selector("#table option", state="attached")
        yield f"| ten browsers at once, all ready | {perf_counter() - start:.1f} s | |"
        seconds, steps = story(many[0])
        yield f"| release from {ROWS:,} rows of parquet | {seconds:.1f} s, {steps} steps of progress | with progress |"
        server.shutdown()
        browser.close()


TABLES = {"pages": pages_table}
