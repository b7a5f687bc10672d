"""The page of this comparison's Space."""

from paraconsist.reporting.space import launch

if __name__ == "__main__":
    launch("consistency_difference")
