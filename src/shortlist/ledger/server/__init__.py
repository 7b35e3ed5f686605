"""Ledgers in a PostgreSQL database: the same chain and the same filter, checked in the server."""
