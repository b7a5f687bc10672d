"""PaRTE: paraphrased textual entailment pairs (Verma et al. 2023)."""
