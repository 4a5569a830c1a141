"""From records to tables, figures and pages, as pure functions."""
