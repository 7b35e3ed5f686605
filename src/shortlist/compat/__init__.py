"""The mechanisms in the words of other libraries: `shortlist.compat.mbi`, `shortlist.compat.opendp`."""
