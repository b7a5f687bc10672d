"""Models: every kind is a `Classifier`; `loading.load_model` loads one."""
