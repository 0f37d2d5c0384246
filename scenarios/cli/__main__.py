"""`python -m psephos.scenarios.cli`."""

from .group import main

__all__: tuple[str, ...] = ()

if __name__ == "__main__":
    main()
