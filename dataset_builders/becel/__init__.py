"""BECEL: consistency checks over seven tasks (Jang, Kwon, Lukasiewicz 2022)."""
