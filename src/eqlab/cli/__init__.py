"""The command line: one thin file per command. Flags in, API call, table out."""
