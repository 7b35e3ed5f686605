"""`python -m shortlist`."""

from shortlist._entry import main

if __name__ == "__main__":
    main()
