"""`eqlab benchmarks`: what can be run, and with which options."""


def benchmarks() -> None:
    """List the benchmarks and their options."""
    from eqlab.benchmarks.registry import load, names
    from eqlab.cli.output import print_rows

    for name in names():
        benchmark = load(name)
        rows = [
            [option.name, option.default, ", ".join(option.choices), option.help] for option in benchmark.option_help()
        ]
        print_rows(f"{name}: {benchmark.title}", ["option", "default", "choices", "what it does"], rows)
