"""Training: fine-tune a classifier so that `load_model` loads it."""
