"""Rows to scores: files, frames, DuckDB relations, Ibis tables and Spark, each counted where it is."""

from shortlist.tables.count import count

__all__ = ["count"]
