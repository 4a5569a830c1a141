"""The sections of the page."""
