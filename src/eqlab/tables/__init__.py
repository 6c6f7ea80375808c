"""What people read: one text for a cell, whoever prints it, and the renderers of a `Table`: terminal, HTML, Markdown,
CSV, JSON, data frames, and drawings."""

from eqlab.core.results import Cell, Column, Table
from eqlab.tables.cells import cell_text

__all__ = ["Cell", "Column", "Table", "cell_text"]
