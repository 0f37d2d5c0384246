"""`python -m psephos.scenarios.cli`."""

from .group import main

if __name__ == "__main__":
    main()
