"""What a model is worth, for people: figures, tables and one page that holds them all."""

from vmtl.report.evidence import Evidence, gather
from vmtl.report.intervals import Interval
from vmtl.report.relatedness import Arrow, Control, arrows, even_weight, fit_control

__all__ = ["Arrow", "Control", "Evidence", "Interval", "arrows", "even_weight", "fit_control", "gather"]
