"""Studies that are no part of the package: the papers reproduced, and the catalogue of broken mechanisms."""
