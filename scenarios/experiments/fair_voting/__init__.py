"""The paper on fair and private voting rules, run again."""
