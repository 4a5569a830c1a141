"""What predictions are worth: functions of targets and predictions, and their names."""
