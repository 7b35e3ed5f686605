"""`where=`: one small language for conditions on a row, read here and meant alike in every engine."""
