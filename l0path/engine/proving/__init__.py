"""The stages of a run that prove models: all sizes at once, or one by one."""
