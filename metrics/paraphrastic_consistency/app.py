"""The page of this metric's Space."""

from paraconsist.reporting.space import launch

if __name__ == "__main__":
    launch("paraphrastic_consistency")
