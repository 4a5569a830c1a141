"""Figures as Matplotlib axes."""
