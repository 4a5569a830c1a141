"""Every number and choice of a fit, as plain data: settings, presets, schedules."""
