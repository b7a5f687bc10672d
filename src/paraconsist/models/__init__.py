"""Models: any classifier behind one small protocol; `loading.load_model` gives one."""
