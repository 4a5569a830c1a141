"""What users pass in, checked and turned into plain arrays and numbers of tasks; every error says what to do."""
