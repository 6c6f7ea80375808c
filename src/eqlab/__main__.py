"""`python -m eqlab`: the same as `eqlab`, for whoever has the environment but not its commands on the path."""

from eqlab.cli.main import main

if __name__ == "__main__":
    main()
