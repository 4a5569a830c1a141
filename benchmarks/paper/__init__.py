"""The paper's tables and figures: suites of jobs, their records, and what is made of them."""
