"""What a fitted model tells, whichever system fitted it: predictions, who learns from whom, left-out scores."""
