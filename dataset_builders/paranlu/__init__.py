"""ParaNLU: human and automatic paraphrases of abductive and defeasible inference problems."""
