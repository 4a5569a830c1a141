"""From suites to records: jobs, engines, and what one job does."""
